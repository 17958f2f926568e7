// What this machine's disks, memory and ranks do, and what a run that was stopped left on them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "binding.hpp"

namespace spanfft::python {

namespace {

std::string probe(uintptr_t comm, double seconds, bool quick, bool store, const std::string& disk,
                  const std::vector<std::string>& scratch) {
    const std::vector<const char*> folders = pointers(scratch);
    spanfft_probe_options options{sizeof options,
                                  seconds,
                                  quick ? 1 : 0,
                                  store ? 0 : 1,
                                  disk.empty() ? nullptr : disk.c_str(),
                                  static_cast<int32_t>(folders.size()),
                                  folders.data()};
    char* machine = nullptr;
    {
        nb::gil_scoped_release no_gil;
        check(spanfft_probe(reinterpret_cast<spanfft_comm*>(comm), &options, &machine));
    }
    return take(machine);
}

std::string probe_kept(uintptr_t comm) {
    char* machine = nullptr;
    check(spanfft_probe_kept(reinterpret_cast<spanfft_comm*>(comm), &machine));
    return take(machine);
}

}  // namespace

void bind_disks(nb::module_& m) {
    m.def("probe", &probe, nb::kw_only(), "comm"_a = 0, "seconds"_a = 0.0, "quick"_a = false, "store"_a = true,
          "disk"_a = "", "scratch"_a = std::vector<std::string>());
    m.def("probe_kept", &probe_kept, "comm"_a = 0);
    m.def(
        "unfinished_run",
        [](const std::string& input, int64_t offset_bytes, const std::string& output,
           const std::vector<std::string>& scratch) {
            const std::vector<const char*> folders = pointers(scratch);
            char* problem = nullptr;
            check(spanfft_unfinished_run(input.c_str(), offset_bytes, output.c_str(), static_cast<int>(folders.size()),
                                         folders.data(), &problem));
            return take(problem);
        },
        "input_path"_a, "input_offset_bytes"_a, "output_path"_a, "scratch"_a);
    m.def(
        "disk_io",
        [](const std::optional<std::string>& io) {
            char* text = nullptr;
            check(spanfft_disk_io(io ? io->c_str() : nullptr, &text));
            return take(text);
        },
        "io"_a.none() = nb::none());
    m.def("windows", [] {
        char* text = nullptr;
        check(spanfft_windows(&text));
        return take(text);
    });
}

}  // namespace spanfft::python
