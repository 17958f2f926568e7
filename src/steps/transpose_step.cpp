// Local transposition as a plan step; see transpose_step.hpp.
#include "steps/transpose_step.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstring>

#include "core/shared_team.hpp"
#include "core/stream_copy.hpp"
#include "engine/tile.hpp"

namespace spanfft {

namespace {

constexpr index_t kBlockRows = 64, kBlockColumns = 16;

struct Matrices {
    index_t outer = 1, rows = 1, columns = 1, elem_bytes = 1;
    index_t row_blocks() const { return ceil_div(rows, kBlockRows); }
    index_t column_blocks() const { return ceil_div(columns, kBlockColumns); }
    index_t blocks() const { return outer * row_blocks() * column_blocks(); }
    index_t bytes() const { return outer * rows * columns * elem_bytes; }
};

Matrices matrices_of(const TransposeSpec& spec, int rank) {
    const Extents local = patch_shape(spec.from.layout.patch(rank));
    const auto axis = static_cast<size_t>(spec.axis);
    Matrices m;
    m.outer = product(local, 0, spec.axis);
    m.rows = local[axis];
    // Axes behind the two move with them.
    const index_t inner = product(local, spec.axis + 2, static_cast<int>(local.size()));
    m.columns = local[axis + 1];
    m.elem_bytes = inner * static_cast<index_t>(spec.from.elem.bytes());
    return m;
}

// One block. Bytes: of an element, or 0 for any. Returns the bytes that it read and wrote.
template <index_t Bytes>
index_t transpose_block(const Matrices& m, index_t block, bool stream, const char* from, char* to) {
    const index_t bytes = Bytes ? Bytes : m.elem_bytes;
    const index_t column_block = block % m.column_blocks(), above = block / m.column_blocks();
    const index_t first_column = column_block * kBlockColumns, first_row = above % m.row_blocks() * kBlockRows;
    const index_t matrix_bytes = above / m.row_blocks() * m.rows * m.columns * bytes;
    const index_t rows = std::min(kBlockRows, m.rows - first_row);
    const index_t columns = std::min(kBlockColumns, m.columns - first_column);
    from += matrix_bytes + (first_row * m.columns + first_column) * bytes;
    to += matrix_bytes + (first_column * m.rows + first_row) * bytes;
    for (index_t column = 0; column < columns; ++column, from += bytes, to += m.rows * bytes) {
        if constexpr (Bytes > 0) {
            alignas(64) std::array<char, static_cast<size_t>(kBlockRows * Bytes)> run;
            for (index_t row = 0; row < rows; ++row)
                std::memcpy(run.data() + row * Bytes, from + row * m.columns * Bytes, Bytes);
            if (stream)
                stream_copy(to, run.data(), static_cast<size_t>(rows * Bytes));
            else
                std::memcpy(to, run.data(), static_cast<size_t>(rows * Bytes));
        } else {
            for (index_t row = 0; row < rows; ++row)
                std::memcpy(to + row * bytes, from + row * m.columns * bytes, static_cast<size_t>(bytes));
        }
    }
    if (stream) stream_fence();
    return 2 * rows * columns * bytes;
}

index_t transpose_block(const Matrices& m, index_t block, bool stream, const char* from, char* to) {
    switch (m.elem_bytes) {
        case 4:
            return transpose_block<4>(m, block, stream, from, to);
        case 8:
            return transpose_block<8>(m, block, stream, from, to);
        case 16:
            return transpose_block<16>(m, block, stream, from, to);
        case 32:
            return transpose_block<32>(m, block, stream, from, to);
        default:
            return transpose_block<0>(m, block, stream, from, to);
    }
}

class TransposeTask final : public Task {
  public:
    TransposeTask(const TransposeSpec& spec, int rank, index_t stream_worth_bytes)
        : matrices_(matrices_of(spec, rank)),
          source_(spec.source),
          target_(spec.target),
          stream_worth_bytes_(stream_worth_bytes) {
        team_ = SharedTeam::of(spec.threads, matrices_.bytes());
    }

    Status run(RunContext& context) override {
        const TraceScope scope(context.trace, "transpose", TraceCategory::compute, 2 * matrices_.bytes());
        const auto* from = static_cast<const char*>(context.at(source_));
        auto* to = static_cast<char*>(context.at(target_));
        const bool stream = matrices_.bytes() >= stream_worth_bytes_;
        const index_t blocks = matrices_.blocks();
        std::atomic<index_t> moved_bytes{0};
        const auto share = [&](index_t begin, index_t end) {
            index_t own_bytes = 0;
            for (index_t block = begin; block < end; ++block)
                own_bytes += transpose_block(matrices_, block, stream, from, to);
            moved_bytes += own_bytes;
        };
        if (team_) {
            const index_t members = team_->size();
            team_->run([&](int member) { share(blocks * member / members, blocks * (member + 1) / members); });
        } else {
            share(0, blocks);
        }
        counts_ = Counts();
        counts_.memory_bytes = moved_bytes;
        return Status();
    }
    Counts counted() const override { return counts_; }

  private:
    Matrices matrices_;
    Slot source_, target_;
    index_t stream_worth_bytes_;
    std::unique_ptr<SharedTeam> team_;  // nullptr: this thread alone
    Counts counts_;
};

class TransposeStep final : public Step {
  public:
    TransposeStep(TransposeSpec spec, const Machine& machine)
        : spec_(std::move(spec)),
          bytes_per_second_(machine.memory_bytes_per_second),
          stream_worth_bytes_(machine.caches_of(spec_.from.layout.nranks()).stream_worth_bytes()) {}
    const char* type() const override { return "Transpose"; }

    std::string describe() const override {
        return cat("axes ", spec_.axis, ",", spec_.axis + 1, ", ", spec_.from.layout.describe(), " -> ",
                   spec_.to.layout.describe(), ", ", slot_name(spec_.source), " -> ", slot_name(spec_.target));
    }

    Counts price(int rank) const override {
        Counts counts;
        counts.memory_bytes = 2 * spec_.from.local_bytes(rank);
        counts.seconds = static_cast<double>(counts.memory_bytes) / 2 / bytes_per_second_;
        return counts;
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        return std::unique_ptr<Task>(new TransposeTask(spec_, binding.comm.rank(), stream_worth_bytes_));
    }

  private:
    TransposeSpec spec_;
    double bytes_per_second_;  // of one thread
    index_t stream_worth_bytes_;
};

}  // namespace

std::unique_ptr<Step> make_transpose_step(TransposeSpec spec, const Machine& machine) {
    assert(spec.source != spec.target);
    return std::make_unique<TransposeStep>(std::move(spec), machine);
}

}  // namespace spanfft
