// spanfft_transform_stores and spanfft_transform_file: arrays in files and behind functions of the caller's.
#include <algorithm>
#include <cstring>

#include "capi/handles.hpp"

using namespace spanfft;

namespace {

// As far as the caller's struct goes; what it does not know is zero.
Result<spanfft_store> store_from_c(const spanfft_store* given, const char* which) {
    spanfft_store store = {};
    if (!given || given->size < offsetof(spanfft_store, user))
        return error(Code::invalid_argument, "the ", which, " store is NULL or its size is not set; ",
                     "zero a spanfft_store and set size = sizeof(spanfft_store)");
    std::memcpy(&store, given, std::min(given->size, sizeof store));
    return store;
}

// What a function of the caller's says.
template <class Call>
Status told(const std::string& name, const Call& call) {
    spanfft_set_error(nullptr);
    const int code = call();
    if (code == SPANFFT_OK) return {};
    const std::string sentence = spanfft_last_error();
    const bool known = code > SPANFFT_OK && code <= SPANFFT_CALLBACK_FAILED;
    return Status(known ? static_cast<Code>(code) : Code::io_error,
                  sentence.empty() ? cat(name, ": its function returned ", code, " and said no more") : sentence);
}

BoxTransfer transfer_of(const spanfft_store& store, const char* which) {
    if (!store.transfer) return {};
    const std::string name = store.path ? store.path : which;
    return [=, transfer = store.transfer, user = store.user](const index_t* first, const index_t* extent, void* data) {
        return told(name, [&] { return transfer(first, extent, data, user); });
    };
}

std::function<Status()> finish_of(const spanfft_store& store, const char* which) {
    if (!store.finish) return {};
    const std::string name = store.path ? store.path : which;
    return [=, finish = store.finish, user = store.user] { return told(name, [&] { return finish(user); }); };
}

// What is set on the plan, and who is told.
Result<FileRequest> request_of(const spanfft_plan* plan, const char* scratch_folder, spanfft_progress progress,
                               void* user) {
    SPANFFT_TRY(check_runs(plan));
    FileRequest request;
    request.scratch_folders = plan->scratch_folders;
    if (request.scratch_folders.empty() && scratch_folder && *scratch_folder) {
        request.scratch_folders = {scratch_folder};
    }
    request.callbacks = plan->callbacks;
    request.journal = plan->journal;
    request.checksums = plan->checksums;
    if (progress) request.progress = [=](index_t done, index_t total) { return progress(done, total, user) != 0; };
    return request;
}

}  // namespace

int spanfft_transform_stores(spanfft_plan* plan, const spanfft_store* input, const spanfft_store* output,
                             const char* scratch_folder, spanfft_progress progress, void* user) {
    return report([&]() -> Status {
        SPANFFT_ASSIGN(FileRequest request, request_of(plan, scratch_folder, progress, user));
        SPANFFT_ASSIGN(const spanfft_store source, store_from_c(input, "input"));
        SPANFFT_ASSIGN(const spanfft_store target, store_from_c(output, "output"));
        request.input_path = source.path ? source.path : "";
        request.input_offset_bytes = source.offset_bytes;
        request.output_path = target.path ? target.path : "";
        if (target.header && target.header_bytes > 0)
            request.header.assign(static_cast<const char*>(target.header), static_cast<size_t>(target.header_bytes));
        request.read_box = transfer_of(source, "the input");
        request.write_box = transfer_of(target, "the output");
        request.finish = finish_of(target, "the output");
        // Of a file the journal sees for itself whether it changed.
        if (source.transfer && source.identity) request.input_identity = source.identity;
        if (target.transfer && target.identity) request.output_identity = target.identity;
        request.packed_input = source.packed != 0;
        request.packed_output = target.packed != 0;
        return plan->executor->transform_file(request);
    });
}

int spanfft_transform_in_place(spanfft_plan* plan, const char* path, int64_t offset_bytes, const char* scratch_folder,
                               spanfft_progress progress, void* user) {
    return report([&]() -> Status {
        SPANFFT_ASSIGN(FileRequest request, request_of(plan, scratch_folder, progress, user));
        request.input_path = request.output_path = path ? path : "";
        request.input_offset_bytes = offset_bytes;
        request.in_place = true;
        return plan->executor->transform_file(request);
    });
}

int spanfft_transform_file(spanfft_plan* plan, const char* input_path, int64_t input_offset_bytes,
                           const char* output_path, const void* header, int64_t header_bytes,
                           const char* scratch_folder, spanfft_progress progress, void* user) {
    spanfft_store input = {}, output = {};
    input.size = output.size = sizeof(spanfft_store);
    input.path = input_path;
    input.offset_bytes = input_offset_bytes;
    output.path = output_path;
    output.header = header;
    output.header_bytes = header_bytes;
    return spanfft_transform_stores(plan, &input, &output, scratch_folder, progress, user);
}
