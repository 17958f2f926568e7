// MKL's threads, threading layer, address space and memory; see mkl.hpp.
#include "engine/mkl.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

#include "core/threads.hpp"
#include "engine/fftw_symbols.hpp"

namespace spanfft {

namespace {

constexpr int kMklBlockTime = 1;  // ms that MKL's threads spin; 200, the default, starves others
// Of address space: 2026.2's libraries and tables take 230 MiB; each of its threads a stack and an arena of malloc's.
constexpr size_t kMklLibraries = size_t{512} << 20, kMklThread = size_t{160} << 20;

template <typename Call>
void find_call(void* handle, Call& call, const char* symbol) {
    call = reinterpret_cast<std::remove_reference_t<Call>>(dlsym(handle, symbol));
}

// MKL ends the process when it can't load its threading layer, so what it will load is tried first: Intel's
// OpenMP beside it or wherever the loader finds it, else GNU's, else none. A user's own choice stands.
void choose_threading_layer(MklCalls& mkl, const std::string& path) {
    constexpr int sequential = 1;
    constexpr int gnu = 3;
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    auto layer = [&](const char* name) {  // libmkl_rt.so.3 -> libmkl_NAME.so.3
        std::string file = path;
        const size_t at = file.rfind("mkl_rt");
        if (at != std::string::npos) file.replace(at, 6, name);
        return file;
    };
    auto openmp = fftw_abi::open_library("libiomp5.so");
    if (!openmp.ok()) openmp = fftw_abi::open_library(folder + "libiomp5.so");
    if (openmp.ok() && !std::getenv("KMP_BLOCKTIME"))
        find_call(openmp.value(), mkl.set_block_time, "kmp_set_blocktime");
    if (!mkl.set_threading_layer || std::getenv("MKL_THREADING_LAYER")) return;
    if (openmp.ok() && access(layer("mkl_intel_thread").c_str(), R_OK) == 0) return;
    mkl.set_block_time = nullptr;
    const bool has_gnu =
        fftw_abi::open_library("libgomp.so.1").ok() && access(layer("mkl_gnu_thread").c_str(), R_OK) == 0;
    mkl.set_threading_layer(has_gnu ? gnu : sequential);
}

void* zeroed_malloc(size_t bytes) { return std::calloc(1, bytes); }

// A handle of the library of the process whose file is called so, or null.
void* loaded_library(const char* stem) {
    struct Search {
        std::string stem, path;
    } search{std::string("/") + stem, ""};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
            auto& wanted = *static_cast<Search*>(data);
            const std::string path = info->dlpi_name;
            if (path.find(wanted.stem) == std::string::npos) return 0;
            wanted.path = path;
            return 1;
        },
        &search);
    return search.path.empty() ? nullptr : dlopen(search.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

// Has the library of that address stay in the process: MKL may outlive it.
bool stays_loaded(void* address) {
    Dl_info info{};
    link_map* map = nullptr;
    if (!dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map) return false;
    const bool is_program = map->l_name[0] == '\0';
    return is_program || dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
}

// MKL's plans compute with parts of their tables that they never set (real transforms, 2026.2). What they find there
// does not reach the result, but numbers below the least normal one take the processor some 100 cycles each: plans were
// 3 to 6 times slower or not, as memory had been used before (r2c 24 x 35 x 40 float: 75 or 245 us). So MKL gets its
// memory as zeros, by the pointer that its developer guide gives for this ("Redefining Memory Functions"). It counts
// from MKL's first allocation on, and one that a program has set itself stays.
void give_zeroed_memory(const MklCalls& mkl) {
    if (!mkl.set_local_threads) return;
    mkl.set_local_threads(mkl.set_local_threads(0));  // loads libmkl_core, and allocates nothing
    void* const core = loaded_library("libmkl_core.so");
    using Malloc = void* (*)(size_t);
    auto* const used = core ? static_cast<Malloc*>(dlsym(core, "i_malloc")) : nullptr;
    if (!used || reinterpret_cast<void*>(*used) != dlsym(RTLD_DEFAULT, "malloc")) return;
    if (stays_loaded(reinterpret_cast<void*>(&zeroed_malloc))) *used = zeroed_malloc;
}

}  // namespace

MklThreads::MklThreads(const MklCalls& mkl, int threads) : mkl_(mkl) {
    if (mkl_.set_local_threads) previous_ = mkl_.set_local_threads(threads);
    if (mkl_.set_block_time && threads > 1) mkl_.set_block_time(kMklBlockTime);
}

AddressSpace address_space_for_mkl(const std::string& engine, const std::string& path_variable) {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
    const size_t needed = kMklLibraries + kMklThread * static_cast<size_t>(available_cores());
    void* room = mmap(nullptr, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room != MAP_FAILED) {
        munmap(room, needed);
        return {true, {}};
    }
    return {true,
            error(Code::out_of_memory, "engine '", engine, "' is passed over: it ends the process where its ",
                  "libraries don't fit, and less than ", needed >> 20,
                  " MiB of address space are left; raise the limit (ulimit -v), or set ", path_variable, "=none")};
}

MklCalls prepare_mkl(void* handle, const std::string& path) {
    MklCalls mkl;
    find_call(handle, mkl.set_local_threads, "MKL_Set_Num_Threads_Local");
    find_call(handle, mkl.version, "MKL_Get_Version_String");
    find_call(handle, mkl.set_threading_layer, "MKL_Set_Threading_Layer");
    choose_threading_layer(mkl, path);
    give_zeroed_memory(mkl);
    return mkl;
}

}  // namespace spanfft
