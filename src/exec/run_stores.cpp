// Opening the stores of a run; see run_stores.hpp.
#include "exec/run_stores.hpp"

#include "exec/file_identity.hpp"

namespace spanfft {

namespace {

Status check_side(const char* side, bool given, bool planned) {
    if (given == planned) return {};
    return given ? error(Code::invalid_argument, "the ", side, " is behind a function, but the plan is for a file; ",
                         "give ", side, "_chunk to the problem")
                 : error(Code::invalid_argument, "the plan has ", side, "_chunk, but the ", side, " is a file; ",
                         "give a function, or leave ", side, "_chunk out");
}

Status check_packed(const char* side, bool packed, bool is_spectrum, bool is_file, const Plan& plan) {
    if (!packed) return {};
    const Problem& p = plan.problem;
    if (p.stores_other()) {
        return error(Code::invalid_argument, "the ", side, " of '", plan.task(),
                     "' can't be packed, as that is for complex numbers as they are computed; leave out power and "
                     "store=, or don't pack it");
    }
    if (side[0] == 'i' && p.loads_other()) {
        return error(Code::invalid_argument, "the input of '", plan.task(),
                     "' can't be packed, as that is for complex numbers as they are computed; leave out load=");
    }
    const bool fits = is_spectrum && is_file && p.halves() && p.ndim() == 1 && p.batch == 1 && p.shape[0] % 2 == 0;
    if (fits) return {};
    return error(Code::invalid_argument, "the ", side, " of '", plan.task(),
                 "' can't be packed; a packed spectrum is that of r2c or c2r of one axis of even length, in a file");
}

// Empty: none was given, and the output is no file beside which it could be.
std::vector<std::string> scratch_folders(const FileRequest& request) {
    if (request.scratch_folders.empty() && request.in_place) return {folder_of(whole_path(request.input_path))};
    if (!request.scratch_folders.empty() || request.write_box) return request.scratch_folders;
    return {folder_of(request.output_path)};
}

Status check_input_length(const FileStore& store, const FileRequest& request, index_t needed_bytes) {
    if (request.input_offset_bytes < 0)
        return error(Code::invalid_argument, "input offset is ", request.input_offset_bytes,
                     " bytes; it must not be negative");
    if (store.size_bytes() - request.input_offset_bytes < needed_bytes) {
        return error(Code::corrupt_data, request.input_path, " has ", store.size_bytes(),
                     " bytes, but the array needs ", needed_bytes, " from byte ", request.input_offset_bytes,
                     "; the file is truncated or its shape or type is not what was said");
    }
    return Status();
}

}  // namespace

Status check_stores(const FileRequest& request, const Plan& plan) {
    const Problem& p = plan.problem;
    SPANFFT_TRY(check_side("input", static_cast<bool>(request.read_box), !p.input_chunk.empty()));
    SPANFFT_TRY(check_side("output", static_cast<bool>(request.write_box), !p.output_chunk.empty()));
    SPANFFT_TRY(check_packed("input", request.packed_input, !p.forward(), !request.read_box, plan));
    SPANFFT_TRY(check_packed("output", request.packed_output, p.forward(), !request.write_box, plan));
    if (scratch_folders(request).empty() && plan.all_scratch_bytes() > 0) {
        return error(Code::invalid_argument, "the run needs ",
                     bytes_string(static_cast<double>(plan.all_scratch_bytes())),
                     " of scratch, and the output is no file beside which it could be; give a scratch folder");
    }
    if (p.ranks > 1 && plan.all_scratch_bytes() > 0 && request.output_path.empty()) {
        return error(Code::invalid_argument,
                     "the output of several ranks needs a path, also behind a function: in its ",
                     "folder, which all ranks see, is what chunked arrays are copied through; give spanfft_store.path");
    }
    return {};
}

std::string scratch_name(std::string folder, int rank, int node) {
    for (const auto& [what, by] : {std::pair{std::string("{rank}"), cat(rank)}, {std::string("{node}"), cat(node)}}) {
        for (size_t at = 0; (at = folder.find(what, at)) != std::string::npos; at += by.size())
            folder.replace(at, what.size(), by);
    }
    return folder;
}

Result<std::unique_ptr<BoxThread>> BoxThread::start() {
    auto made = std::make_unique<BoxThread>();
    SPANFFT_ASSIGN(
        made->thread_,
        CallThread::start([&call = made->call_](int) { return (*call.move)(call.first, call.extent, call.data); },
                          size_t{8} << 20));
    return made;
}

// No two of these at once: a run has one sweep that reads boxes and another that writes them.
BoxTransfer BoxThread::on_it(BoxTransfer move) {
    return [this, move = std::move(move)](const index_t* first, const index_t* extent, void* data) {
        call_ = {&move, first, extent, data};
        thread_->submit(0);
        return thread_->wait(0);
    };
}

Status RunStores::open_input() {
    if (plan_.staged_input_bytes > 0 || plan_.staged_output_bytes > 0) {
        SPANFFT_ASSIGN(box_thread_, BoxThread::start());
    }
    if (request_.read_box) {
        ArrayBoxes boxes{plan_.problem.input_shape(), plan_.input_box, plan_.read_bytes()};
        input_array_ = std::make_unique<ArrayStore>(
            std::move(boxes), request_.input_path,
            plan_.staged_input_bytes > 0 ? box_thread_->on_it(request_.read_box) : request_.read_box, BoxTransfer());
        arrays_.input = {input_array_.get(), 0};
        return {};
    }
    SPANFFT_ASSIGN(input_file_, FileStore::open_input(request_.input_path));
    arrays_.input = {input_file_.get(), request_.input_offset_bytes};
    const Problem& p = plan_.problem;
    const index_t bytes = product(p.input_shape()) * plan_.loaded_bytes();
    if (!request_.packed_input) {
        SPANFFT_TRY(check_input_length(*input_file_, request_, bytes));
        if (!p.loads_other()) return {};
        loaded_input_ = std::make_unique<LoadedStore>(*input_file_, request_.input_offset_bytes, *p.load,
                                                      p.input_elem(), product(p.input_shape()));
        arrays_.input = {loaded_input_.get(), loaded_input_->offset_bytes()};
        return {};
    }
    SPANFFT_TRY(check_input_length(*input_file_, request_, bytes - plan_.read_bytes()));
    packed_input_ =
        std::make_unique<PackedStore>(*input_file_, request_.input_offset_bytes, p.shape[0] / 2, plan_.read_bytes());
    arrays_.input.store = packed_input_.get();
    return packed_input_->load();
}

void RunStores::hold_scratch(void* memory) {
    held_scratch_ = std::make_unique<MemoryScratch>(memory, plan_.held_scratch_bytes);
    arrays_.memory = {held_scratch_.get(), 0};
}

Status RunStores::check_input_unchanged() const {
    if (!input_file_ || input_file_->unchanged()) return {};
    return error(Code::corrupt_data, request_.input_path,
                 " has changed while it was read, so the output would be of neither its old nor its new content; "
                 "run it again when nobody writes to it");
}

OutputRequest RunStores::in_place_request(const PlannedSweeps& layout) const {
    OutputRequest copy = output_request();
    const std::string file = whole_path(request_.input_path);
    if (plan_.problem.ranks > 1) copy.shared_folder = folder_of(file);
    copy.path = (plan_.problem.ranks > 1 ? copy.shared_folder : scratch_folders(request_).front()) +
                file.substr(file.rfind('/'));
    copy.input_path.clear();
    // As far past a block of the file as the input, which goes for memory and direct I/O too.
    copy.header.assign(static_cast<size_t>(request_.input_offset_bytes % kDirectBytes), '\0');
    if (layout.overwrites_input && !layout.needs_output) copy.payload_bytes = 0;
    copy.what = "the copy that the input is overwritten with";
    return copy;
}

namespace {

// An empty file in a scratch folder, which has scratch alone.
void leave_out_payload(OutputRequest& output, const std::string& folder) {
    output.path = folder + "/spanfft-output";
    output.input_path.clear();
    output.header.clear();
    output.payload_bytes = 0;
}

}  // namespace

OutputRequest RunStores::scratch_request() const {
    OutputRequest scratch = output_request();
    scratch.staged_input_bytes = scratch.staged_output_bytes = 0;
    scratch.shared_folder.clear();
    leave_out_payload(scratch, scratch_folders(request_).front());
    return scratch;
}

OutputRequest RunStores::output_request() const {
    OutputRequest output;
    output.path = request_.output_path;
    output.input_path = output.permissions_of = request_.input_path;
    output.header = request_.header;
    output.payload_bytes = plan_.output_file_bytes;
    output.scratch_folders = request_.scratch_folders;
    output.scratch_bytes =
        plan_.scratch_of_each_rank_bytes > 0 ? plan_.scratch_of_each_rank_bytes : plan_.scratch_bytes;
    output.scratch_block_bytes = plan_.scratch_block_bytes;
    output.scratch_disks = plan_.problem.scratch_disks();
    output.staged_input_bytes = plan_.staged_input_bytes;
    output.staged_output_bytes = plan_.staged_output_bytes;
    if (plan_.problem.ranks > 1 && plan_.staged_input_bytes + plan_.staged_output_bytes > 0)
        output.shared_folder = folder_of(request_.output_path);
    if (request_.read_box) output.input_path.clear();
    if (request_.packed_output) {  // the last number is there until the file gets its name
        output.payload_bytes -= plan_.stored_bytes();
        output.extra_bytes = plan_.stored_bytes();
    }
    (output.staged_output_bytes > 0 ? output.staged_output_bytes : output.extra_bytes) += plan_.output_extra_bytes;
    if (request_.write_box)
        leave_out_payload(output, request_.scratch_folders.empty() ? "." : request_.scratch_folders.front());
    return output;
}

void RunStores::attach(OutputFile& output) {
    arrays_.output = {&output.store(), output.payload_offset_bytes()};
    arrays_.scratch.store = output.scratch();
    if (output.staged_input()) {
        arrays_.chunked_input.store = input_array_.get();
        arrays_.input.store = output.staged_input();
    }
    if (output.staged_output()) arrays_.output.store = output.staged_output();
}

void RunStores::attach_shared(const Shared& shared) {
    arrays_.output = {shared.output.get(), shared.output_offset_bytes};
    if (shared.staged_input) {
        arrays_.chunked_input.store = input_array_.get();
        arrays_.input.store = shared.staged_input.get();
    }
    if (shared.staged_output) arrays_.output.store = shared.staged_output.get();
}

const RunArrays& RunStores::dress(BlockWork& work) {
    if (request_.write_box) {
        ArrayBoxes boxes{plan_.problem.output_shape(), plan_.output_box, plan_.stored_bytes()};
        output_array_ = std::make_unique<ArrayStore>(
            std::move(boxes), request_.output_path, BoxTransfer(),
            plan_.staged_output_bytes > 0 ? box_thread_->on_it(request_.write_box) : request_.write_box);
        arrays_.output.offset_bytes = 0;
        (plan_.staged_output_bytes > 0 ? arrays_.chunked_output : arrays_.output).store = output_array_.get();
    }
    if (work.on_way_in() && arrays_.chunked_input.store) {
        reads_ = std::make_unique<FusedBoxes>(*input_array_, input_array_->boxes(), work);
        arrays_.chunked_input.store = reads_.get();
    } else if (work.on_way_in()) {
        reads_ = std::make_unique<FusedReads>(*arrays_.input.store, arrays_.input.offset_bytes, work);
        arrays_.input.store = reads_.get();
    }
    if (!work.on_way_out()) return arrays_;
    if (arrays_.chunked_output.store) {
        ArrayBoxes computed = output_array_->boxes();
        computed.elem_bytes = work.computed_bytes();
        writes_ = std::make_unique<FusedBoxes>(*output_array_, std::move(computed), work);
        arrays_.chunked_output.store = writes_.get();
        return arrays_;
    }
    const StoredArray last = arrays_.as_it_stays();
    writes_ =
        std::make_unique<FusedWrites>(*last.store, last.offset_bytes, product(plan_.problem.output_shape()), work);
    arrays_.result = {writes_.get(), last.offset_bytes};
    return arrays_;
}

Status RunStores::finish(OutputFile& output) const {
    if (!request_.packed_output) return {};
    return pack_spectrum(output.store(), output.payload_offset_bytes(), plan_.problem.shape[0] / 2,
                         plan_.stored_bytes());
}

}  // namespace spanfft
