// Run-time lookup of FFTW3-interface entry points; see fftw_symbols.hpp.
#include "engine/fftw_symbols.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace spanfft::fftw_abi {

Result<void*> open_library(const std::string& name) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* reason = dlerror();
    return error(Code::engine_error, reason ? reason : name.c_str());
}

Symbols find_symbols(void* handle, void* threads_handle, Precision precision) {
    const std::string prefix = precision == Precision::single ? "fftwf_"
                               : precision == Precision::dbl  ? "fftw_"
                                                              : "fftwl_";
    auto find = [&](auto& target, const char* name) {
        const std::string symbol = prefix + name;
        void* address = dlsym(handle, symbol.c_str());
        if (!address && threads_handle) address = dlsym(threads_handle, symbol.c_str());
        target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(address);
    };
    Symbols s;
    find(s.plan_dft, "plan_guru64_dft");
    find(s.plan_r2c, "plan_guru64_dft_r2c");
    find(s.plan_c2r, "plan_guru64_dft_c2r");
    find(s.plan_r2r, "plan_guru64_r2r");
    find(s.execute_dft, "execute_dft");
    find(s.execute_r2c, "execute_dft_r2c");
    find(s.execute_c2r, "execute_dft_c2r");
    find(s.execute_r2r, "execute_r2r");
    find(s.destroy, "destroy_plan");
    find(s.alignment_of, "alignment_of");
    find(s.init_threads, "init_threads");
    find(s.with_nthreads, "plan_with_nthreads");
    find(s.set_time_limit, "set_timelimit");
    find(s.sprint_plan, "sprint_plan");
    find(s.export_wisdom, "export_wisdom_to_string");
    find(s.import_wisdom, "import_wisdom_from_string");
    if (s.complete()) s.path = file_of(reinterpret_cast<const void*>(s.plan_dft));
    return s;
}

namespace {

// Of "dft-vrank>=1-x12/1": 12, so often runs what is below it; of "dft-buffered-49-x256/8163-5", which takes 256 of
// 8163 lines at a time: 32. 1 where there is no count.
double loops_of(std::string_view node) {
    const auto number = [&](size_t at) {
        double value = 0;
        for (; at < node.size() && node[at] >= '0' && node[at] <= '9'; ++at) value = 10 * value + (node[at] - '0');
        return value;
    };
    const size_t count = node.find("-x"), all = node.find('/', count);
    if (count == node.npos) return 1;
    const double lines = std::max(1.0, number(count + 2));
    const bool buffered = node.find("-buffered-") != node.npos && all != node.npos;
    return buffered ? std::max(1.0, std::ceil(number(all + 1) / lines)) : lines;
}

}  // namespace

double thread_starts(std::string_view plan) {
    double starts = 0;
    std::vector<double> runs;  // of the nodes that are open, how often what is below them runs
    for (size_t i = 0; i < plan.size(); ++i) {
        if (plan[i] == ')' && !runs.empty()) runs.pop_back();
        if (plan[i] != '(') continue;
        const std::string_view node = plan.substr(i + 1, plan.find_first_of(" \n()", i + 1) - i - 1);
        const double above = runs.empty() ? 1 : runs.back();
        const bool threads = node.find("-thr-") != node.npos;
        if (threads) starts += above;
        runs.push_back(threads ? above : above * loops_of(node));
    }
    return starts;
}

std::string file_of(const void* address) {
    Dl_info info{};
    return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

}  // namespace spanfft::fftw_abi
