// A box of an array in a file, as runs that are contiguous in it; see box_io_step.hpp.
//
// Worked numbers: rows 2..3, columns 4..8 of a 10 x 10 array of 16-byte elements are two runs of 80 bytes, at 384 and
// 544; in memory they follow each other. Runs of more than 8 MiB are cut, so that progress shows and a stop is heard.
#include "plan/box_io_step.hpp"

#include <algorithm>

#include "comm/strided_copy.hpp"
#include "disk/store.hpp"
#include "exchange/exchange.hpp"

namespace spanfft {

namespace {

constexpr index_t kRequestBytes = index_t{8} << 20;

enum class Way { read, write };

// Calls visit(file_offset_bytes, memory_offset_bytes, bytes) for each request; stops at the first failure.
template <class Visit>
Status for_each_request(const ArrayState& state, int rank, Visit visit) {
    const Patch patch = state.layout.patch(rank);
    if (patch_elems(patch) == 0) return Status();
    const StridedPart part =
        merged(strided_part({0, patch}, state.layout.shape(), static_cast<index_t>(state.elem.bytes())));
    index_t runs = 1;
    for (const auto& dim : part.dims) runs *= dim.count;
    for (index_t run = 0; run < runs; ++run) {
        index_t rest = run, file_offset = part.offset_bytes;
        for (size_t i = part.dims.size(); i-- > 0;) {
            file_offset += rest % part.dims[i].count * part.dims[i].stride_bytes;
            rest /= part.dims[i].count;
        }
        for (index_t done = 0; done < part.elem_bytes; done += kRequestBytes) {
            SPANFFT_TRY(visit(file_offset + done, run * part.elem_bytes + done,
                              std::min(kRequestBytes, part.elem_bytes - done)));
        }
    }
    return Status();
}

class BoxTask final : public Task {
  public:
    BoxTask(ArrayState state, Slot slot, Way way, int rank)
        : state_(std::move(state)), slot_(slot), way_(way), rank_(rank) {}
    Status run(RunContext& context) override {
        counts_ = Counts();
        Store& store = *(way_ == Way::read ? context.input_store : context.output_store);
        const index_t base = way_ == Way::read ? context.input_offset_bytes : context.output_offset_bytes;
        const StoreCounts before = store.counts();
        auto* memory = static_cast<char*>(context.at(slot_));
        TraceScope scope(context.trace, way_ == Way::read ? "read" : "write", TraceCategory::disk);
        const Status status =
            for_each_request(state_, rank_, [&](index_t file_offset, index_t offset, index_t bytes) -> Status {
                const Run request{base + file_offset, memory + offset, bytes, false};
                SPANFFT_TRY(way_ == Way::read ? store.read(request) : store.write(request));
                if (!context.advance(bytes))
                    return error(Code::interrupted, "stopped on request; the output was not written");
                return Status();
            });
        const StoreCounts after = store.counts();
        counts_.disk_reads = after.reads - before.reads;
        counts_.disk_read_bytes = after.read_bytes - before.read_bytes;
        counts_.disk_writes = after.writes - before.writes;
        counts_.disk_written_bytes = after.written_bytes - before.written_bytes;
        scope.moved(counts_.disk_read_bytes + counts_.disk_written_bytes);
        return status;
    }
    Counts counted() const override { return counts_; }

  private:
    ArrayState state_;
    Slot slot_;
    Way way_;
    int rank_;
    Counts counts_;
};

class BoxStep final : public Step {
  public:
    BoxStep(ArrayState state, Slot slot, Way way, const Machine& machine)
        : state_(std::move(state)),
          slot_(slot),
          way_(way),
          bytes_per_second_(way == Way::read ? machine.disk_read_bytes_per_second
                                             : machine.disk_write_bytes_per_second),
          request_seconds_(machine.disk_request_seconds) {}
    const char* type() const override { return way_ == Way::read ? "ReadBox" : "WriteBox"; }
    std::string describe() const override {
        return cat(state_.layout.describe(), way_ == Way::read ? " from the file to " : " to the file from ",
                   slot_name(slot_));
    }
    Counts predict(int rank) const override {
        index_t requests = 0, bytes = 0;
        (void)for_each_request(state_, rank, [&](index_t, index_t, index_t n) -> Status {
            ++requests;
            bytes += n;
            return Status();
        });
        Counts counts;
        (way_ == Way::read ? counts.disk_reads : counts.disk_writes) = requests;
        (way_ == Way::read ? counts.disk_read_bytes : counts.disk_written_bytes) = bytes;
        // One disk serves all ranks.
        counts.seconds = static_cast<double>(product(state_.layout.shape())) *
                             static_cast<double>(state_.elem.bytes()) / bytes_per_second_ +
                         static_cast<double>(requests) * request_seconds_;
        return counts;
    }
    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        return std::unique_ptr<Task>(new BoxTask(state_, slot_, way_, binding.comm.rank()));
    }

  private:
    ArrayState state_;
    Slot slot_;
    Way way_;
    double bytes_per_second_, request_seconds_;
};

}  // namespace

std::unique_ptr<Step> make_read_box_step(ArrayState state, Slot slot, const Machine& machine) {
    return std::make_unique<BoxStep>(std::move(state), slot, Way::read, machine);
}

std::unique_ptr<Step> make_write_box_step(ArrayState state, Slot slot, const Machine& machine) {
    return std::make_unique<BoxStep>(std::move(state), slot, Way::write, machine);
}

}  // namespace spanfft
