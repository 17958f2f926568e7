// A box of an array in a file, as runs that are contiguous in it; see box_io_step.hpp.
//
// Worked numbers: rows 2..3, columns 4..8 of a 10 x 10 array of 16-byte elements are two runs of 80 bytes, at 384 and
// 544; in memory they follow each other. Longer runs than a request are cut, so that several requests are under way,
// progress shows and a stop is heard.
#include "steps/box_io_step.hpp"

#include <algorithm>

#include "comm/strided_copy.hpp"
#include "core/extents.hpp"
#include "disk/async_io.hpp"
#include "exchange/exchange.hpp"

namespace spanfft {

namespace {

constexpr index_t kBatchBytes = index_t{128} << 20;  // between two looks at progress
constexpr int kBoxIoThreads = 8;

enum class Way { read, write };

// A rank's part of the array as requests, in the order of memory.
struct BoxRequests {
    StridedPart part;
    index_t request_bytes = 1, per_run = 0, count = 0, per_batch = 1;

    BoxRequests(const ArrayState& state, int rank, index_t most_bytes) : request_bytes(most_bytes) {
        const Patch patch = state.layout.patch(rank);
        if (patch_elems(patch) == 0) return;
        part = merged(strided_part({0, patch}, state.layout.shape(), static_cast<index_t>(state.elem.bytes())));
        per_run = ceil_div(part.elem_bytes, request_bytes);
        count = per_run;
        for (const auto& dim : part.dims) count *= dim.count;
        per_batch = std::max<index_t>(1, kBatchBytes / std::min(part.elem_bytes, request_bytes));
    }
    index_t bytes() const { return count / std::max<index_t>(1, per_run) * part.elem_bytes; }
    Run at(index_t i, index_t base_bytes, char* memory) const {
        index_t rest = i / per_run;
        const index_t done = i % per_run * request_bytes;
        index_t file_offset = base_bytes + part.offset_bytes + done;
        const index_t memory_offset = rest * part.elem_bytes + done;
        for (size_t k = part.dims.size(); k-- > 0;) {
            file_offset += rest % part.dims[k].count * part.dims[k].stride_bytes;
            rest /= part.dims[k].count;
        }
        return {file_offset, memory + memory_offset, std::min(request_bytes, part.elem_bytes - done), false};
    }
};

class BoxTask final : public Task {
  public:
    BoxTask(const ArrayState& state, Slot slot, Way way, int rank, index_t request_bytes, const IoChoice& io)
        : requests_(state, rank, request_bytes),
          slot_(slot),
          way_(way),
          io_(way == Way::read ? IoKind::read : IoKind::write, kBoxIoThreads, io) {}
    Status started() const { return io_.started(); }
    Status run(RunContext& context) override {
        counts_ = Counts();
        const StoredArray& array = way_ == Way::read ? context.arrays.input : context.arrays.as_it_stays();
        Store& store = *array.store;
        const StoreCounter moved(store, store);
        TraceScope scope(context.trace, way_ == Way::read ? "read" : "write", TraceCategory::disk);
        const Status status = transfer(store, array.offset_bytes, context);
        counts_ = moved.counted();
        scope.moved(counts_.disk_read_bytes + counts_.disk_written_bytes);
        return status;
    }
    Counts counted() const override { return counts_; }

  private:
    // By this thread: functions of the caller's may need its stack, and want no second call meanwhile.
    Status one_by_one(Store& store, RunContext& context, const std::function<Run(index_t, index_t, index_t)>& run) {
        for (index_t i = 0; i < requests_.count; ++i) {
            const Run request = run(0, 0, i);
            SPANFFT_TRY(way_ == Way::read ? store.read(request) : store.write(request));
            if (!context.advance(request.bytes))
                return error(Code::interrupted, "stopped on request; the output was not written");
        }
        return {};
    }
    // Two batches by turns, so that enough requests are under way while progress is told and a stop heard between.
    Status transfer(Store& store, index_t base, RunContext& context) {
        char* const memory = static_cast<char*>(context.at(slot_));
        const std::function<Run(index_t, index_t, index_t)> run = [&](index_t group, index_t, index_t i) {
            return requests_.at(group * requests_.per_batch + i, base, memory);
        };
        if (!store.disk(0).file() && !store.takes_many()) return one_by_one(store, context, run);
        SPANFFT_TRY(io_.attach(store, nullptr, 0));
        Status status;
        const index_t batches = ceil_div(requests_.count, requests_.per_batch);
        for (index_t next = 0; next <= batches; ++next) {
            if (next < batches && status.ok()) {
                IoBatch& batch = batches_[next % 2];
                batch.store = &store;
                batch.group = next;
                batch.count = std::min(requests_.per_batch, requests_.count - next * requests_.per_batch);
                batch.run = &run;
                io_.start(batch);
            }
            if (next == 0) continue;
            IoBatch& last = batches_[(next - 1) % 2];
            const Status ended = io_.wait(last);
            if (status.ok()) status = ended;
            if (!context.advance(io_.take_bytes(last)) && status.ok()) {
                status = error(Code::interrupted, "stopped on request; the output was not written");
                if (next < batches) io_.cancel(batches_[next % 2]);
            }
        }
        io_.detach();
        return status;
    }

    BoxRequests requests_;
    Slot slot_;
    Way way_;
    IoBatch batches_[2];
    Counts counts_;
    AsyncIo io_;  // last: it stops before the batches go
};

class BoxStep final : public Step {
  public:
    BoxStep(ArrayState state, Slot slot, Way way, const Machine& machine, index_t request_bytes, index_t stored_bytes)
        : state_(std::move(state)),
          slot_(slot),
          way_(way),
          machine_(machine),
          request_bytes_(request_bytes),
          stored_bytes_(stored_bytes > 0 ? stored_bytes : static_cast<index_t>(state_.elem.bytes())) {}
    const char* type() const override { return way_ == Way::read ? "ReadBox" : "WriteBox"; }
    std::string describe() const override {
        return cat(state_.layout.describe(), way_ == Way::read ? " from the file to " : " to the file from ",
                   slot_name(slot_));
    }
    Counts price(int rank) const override {
        const BoxRequests requests(state_, rank, request_bytes_);
        Counts counts;
        (way_ == Way::read ? counts.disk_reads : counts.disk_writes) = requests.count;
        (way_ == Way::read ? counts.disk_read_bytes : counts.disk_written_bytes) =
            requests.bytes() / static_cast<index_t>(state_.elem.bytes()) * stored_bytes_;
        const DiskUse all{requests.count, product(state_.layout.shape()) * stored_bytes_};  // one disk serves all ranks
        constexpr double kBatches = 1;  // two by turns keep enough requests under way
        counts.seconds = way_ == Way::read ? machine_.disk_seconds(all, DiskUse(), kBatches)
                                           : machine_.disk_seconds(DiskUse(), all, kBatches);
        return counts;
    }
    index_t progress_bytes(int rank) const override { return BoxRequests(state_, rank, request_bytes_).bytes(); }
    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        IoChoice io;
        SPANFFT_ASSIGN(io.backend, choose_io_backend(binding.io));
        auto task = std::make_unique<BoxTask>(state_, slot_, way_, binding.comm.rank(), request_bytes_, io);
        SPANFFT_TRY(task->started());
        return std::unique_ptr<Task>(std::move(task));
    }

  private:
    ArrayState state_;
    Slot slot_;
    Way way_;
    Machine machine_;
    index_t request_bytes_, stored_bytes_;  // of an element in the file
};

}  // namespace

std::unique_ptr<Step> make_read_box_step(ArrayState state, Slot slot, const Machine& machine, index_t request_bytes,
                                         index_t stored_bytes) {
    return std::make_unique<BoxStep>(std::move(state), slot, Way::read, machine, request_bytes, stored_bytes);
}

std::unique_ptr<Step> make_write_box_step(ArrayState state, Slot slot, const Machine& machine, index_t request_bytes,
                                          index_t stored_bytes) {
    return std::make_unique<BoxStep>(std::move(state), slot, Way::write, machine, request_bytes, stored_bytes);
}

}  // namespace spanfft
