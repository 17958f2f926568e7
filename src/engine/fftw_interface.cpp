// Planning and executing on a library with FFTW3's interface; see fftw_interface.hpp.
//
// Method: planning with FFTW_ESTIMATE never touches the arrays, so plans are made for addresses that are not
// there and executed on the caller's (new-array execute). A plan for aligned data may not be used on other data,
// and one for any data can be half as fast (FFTW 3.3.10, 4096 x 2^10: 11 against 19 GF/s), so both are made and
// the pointers choose. Measured plans are timed on scratch arrays, never on the caller's, unless the library knows by
// its wisdom what measuring would find.
// Invariant: the library's planner, which is not thread-safe, is entered under one mutex for the process.
#include "engine/fftw_interface.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include "engine/fftw_symbols.hpp"
#include "engine/mkl.hpp"
#include "engine/rows.hpp"
#include "engine/scratch.hpp"
#include "engine/shared_batch.hpp"
#include "engine/spec.hpp"
#include "engine/tiled.hpp"
#include "engine/trust.hpp"

namespace spanfft {

using namespace fftw_abi;

FftwLibrarySpec fftw_library() { return {"fftw", "SPANFFT_FFTW_LIBRARY", {"libfftw3.so.3", "libfftw3.so"}, false}; }

FftwLibrarySpec mkl_library() {
    return {"mkl", "SPANFFT_MKL_LIBRARY", {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so"}, true};
}

namespace {

constexpr double kMeasureSeconds = 2.0;    // the most that one measured plan may take
constexpr double kThreadFlops = 0.3e6;     // FFTW starts its threads at each call: about 30 us
constexpr double kThreadWorthFlops = 2e6;  // so this is worth two of them
constexpr index_t kKeptLoopPoints = 8;     // a batch loop shorter than this is not worth keeping for its stride
constexpr index_t kBufferedPoints = index_t{8} << 10;  // of long lines in place, in one call

std::mutex& planner_mutex() {
    static std::mutex mutex;
    return mutex;
}

struct Library {
    FftwLibrarySpec spec;
    std::string path;
    std::string version;
    std::array<Symbols, 3> symbols;      // by Precision
    std::array<std::string, 3> missing;  // why a precision is not there
    MklCalls mkl;
    mutable std::atomic<index_t> measured{0};  // plans
};

int r2r_kind(Kernel kernel) {
    switch (kernel) {
        case Kernel::dct1:
            return redft00;
        case Kernel::dct2:
            return redft10;
        case Kernel::dct3:
            return redft01;
        case Kernel::dct4:
            return redft11;
        case Kernel::dst1:
            return rodft00;
        case Kernel::dst2:
            return rodft10;
        case Kernel::dst3:
            return rodft01;
        default:
            return rodft11;
    }
}

std::vector<IoDim> io_dims(const std::vector<LoopDim>& loops) {
    std::vector<IoDim> dims;
    for (const LoopDim& loop : loops) dims.push_back({loop.n, loop.in_stride, loop.out_stride});
    return dims;
}

Plan call_planner(const Symbols& symbols, const LocalSpec& spec, void* in, void* out, unsigned flags) {
    const auto dims = io_dims(spec.transform);
    const auto loops = io_dims(spec.batch);
    const int rank = static_cast<int>(dims.size());
    const int batch_rank = static_cast<int>(loops.size());
    if (spec.kernel == Kernel::r2c) {
        return symbols.plan_r2c(rank, dims.data(), batch_rank, loops.data(), in, out, flags);
    }
    if (spec.kernel == Kernel::c2r) {
        return symbols.plan_c2r(rank, dims.data(), batch_rank, loops.data(), in, out, flags);
    }
    if (is_r2r(spec.kernel)) {
        const int kind = r2r_kind(spec.kernel);
        return symbols.plan_r2r(rank, dims.data(), batch_rank, loops.data(), in, out, &kind, flags);
    }
    const int sign = spec.kernel == Kernel::c2c_forward ? kForward : kBackward;
    return symbols.plan_dft(rank, dims.data(), batch_rank, loops.data(), in, out, sign, flags);
}

// One call of the library, with the loops around it that the library does not take.
class Step {
  public:
    Step(const Library& library, const Symbols& symbols, LocalSpec spec, std::vector<LoopDim> outer)
        : library_(library), symbols_(symbols), spec_(std::move(spec)), outer_(std::move(outer)) {
        in_bytes_ = static_cast<index_t>(input_type(spec_).bytes());
        out_bytes_ = static_cast<index_t>(output_type(spec_).bytes());
        if (spec_.kernel == Kernel::r2c) {
            execute_ = symbols_.execute_r2c;
        } else if (spec_.kernel == Kernel::c2r) {
            execute_ = symbols_.execute_c2r;
        } else {
            execute_ = is_r2r(spec_.kernel) ? symbols_.execute_r2r : symbols_.execute_dft;
        }
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() {
        std::lock_guard lock(planner_mutex());
        if (aligned_) symbols_.destroy(aligned_);
        if (any_) symbols_.destroy(any_);
    }

    // False when the library declines. Call under the planner's mutex.
    bool make() {
        const bool worth = library_.spec.is_mkl || spec_flops(spec_) >= kThreadWorthFlops;
        if (symbols_.with_nthreads) symbols_.with_nthreads(worth ? spec_.threads : 1);
        MklThreads threads(library_.mkl, spec_.threads);
        // c2r in several axes can't preserve its input, and the contract lets every c2r destroy it.
        const unsigned keep = spec_.kernel == Kernel::c2r || spec_.in_place ? kDestroyInput : kPreserveInput;
        void* in = reinterpret_cast<void*>(uintptr_t{1} << 24);  // never read: see the method above
        void* out = spec_.in_place ? in : reinterpret_cast<void*>(uintptr_t{1} << 44);
        any_ = call_planner(symbols_, spec_, in, out, kEstimate | kUnaligned | keep);
        if (!any_) return false;
        if (worth && spec_.threads > 1 && wastes_threads()) {
            left_alone_ = true;
            symbols_.with_nthreads(1);
            symbols_.destroy(any_);
            any_ = call_planner(symbols_, spec_, in, out, kEstimate | kUnaligned | keep);
            if (!any_) return false;
        }
        if (wants_sharing()) return true;  // nothing is to be measured: parts of it will be planned instead
        if (!symbols_.alignment_of || library_.spec.is_mkl) return true;
        if (spec_.measure) measure(keep);
        if (!aligned_) aligned_ = call_planner(symbols_, spec_, in, out, kEstimate | keep);
        return true;
    }

    // The library would have started threads line by line, and there are lines for each of ours.
    bool wants_sharing() const { return left_alone_ && worth_sharing(spec_); }

    void execute(const char* in, char* out) const {
        MklThreads threads(library_.mkl, spec_.threads);
        loop(0, in, out);
    }

  private:
    bool wastes_threads() const {
        if (library_.spec.is_mkl || !symbols_.with_nthreads || !symbols_.sprint_plan) return false;
        const std::unique_ptr<char, void (*)(void*)> text(symbols_.sprint_plan(any_), std::free);
        return text && thread_starts(text.get()) * kThreadFlops > spec_flops(spec_) / 2;
    }

    void measure(unsigned keep) {
        auto scratch = make_scratch(spec_);
        if (!scratch.ok()) return;  // no room to measure in: the estimated plan serves
        const auto plan = [&](unsigned how) {
            return call_planner(symbols_, spec_, scratch.value().in, scratch.value().out, how | keep);
        };
        aligned_ = plan(kMeasure | kWisdomOnly);
        if (!aligned_) {
            if (symbols_.set_time_limit) symbols_.set_time_limit(kMeasureSeconds);
            aligned_ = plan(kMeasure);
            if (symbols_.set_time_limit) symbols_.set_time_limit(-1.0);
            ++library_.measured;
        }
        if (aligned_ && !is_aligned(scratch.value().in, scratch.value().out)) {
            symbols_.destroy(aligned_);
            aligned_ = nullptr;
        }
    }

    bool is_aligned(const void* in, const void* out) const {
        return symbols_.alignment_of(const_cast<void*>(in)) == 0 && symbols_.alignment_of(const_cast<void*>(out)) == 0;
    }

    void loop(size_t depth, const char* in, char* out) const {
        if (depth == outer_.size()) {
            Plan plan = aligned_ && is_aligned(in, out) ? aligned_ : any_;
            execute_(plan, const_cast<char*>(in), out);
            return;
        }
        const LoopDim& dim = outer_[depth];
        for (index_t i = 0; i < dim.n; ++i) {
            loop(depth + 1, in + i * dim.in_stride * in_bytes_, out + i * dim.out_stride * out_bytes_);
        }
    }

    const Library& library_;
    const Symbols& symbols_;
    LocalSpec spec_;
    std::vector<LoopDim> outer_;
    index_t in_bytes_ = 0;
    index_t out_bytes_ = 0;
    void (*execute_)(Plan, void*, void*) = nullptr;
    Plan aligned_ = nullptr;
    Plan any_ = nullptr;
    bool left_alone_ = false;  // planned for one thread although it was to have several
};

// Steps one after another; each reads the caller's input or works in place on one of the two arrays.
class SteppedFft : public LocalFft {
  public:
    enum class Where { in_to_out, in_place_on_in, in_place_on_out };

    void add(std::unique_ptr<Step> step, Where where) { steps_.push_back({std::move(step), where}); }

    void execute(const void* in, void* out) const override {
        const char* source = static_cast<const char*>(in);
        char* target = static_cast<char*>(out);
        for (const auto& [step, where] : steps_) {
            step->execute(where == Where::in_place_on_out ? target : source,
                          where == Where::in_place_on_in ? const_cast<char*>(source) : target);
        }
    }

  private:
    std::vector<std::pair<std::unique_ptr<Step>, Where>> steps_;
};

// Which batch loop to run here rather than in the library: not the one of least stride, unless that is too short.
size_t loop_to_peel(const std::vector<LoopDim>& batch) {
    size_t kept = 0;
    auto better = [](const LoopDim& a, const LoopDim& b) {
        const bool a_long = a.n >= kKeptLoopPoints;
        const bool b_long = b.n >= kKeptLoopPoints;
        if (a_long != b_long) return a_long;
        return a_long ? std::abs(a.in_stride) + std::abs(a.out_stride) < std::abs(b.in_stride) + std::abs(b.out_stride)
                      : a.n > b.n;
    };
    for (size_t i = 1; i < batch.size(); ++i) {
        if (better(batch[i], batch[kept])) kept = i;
    }
    return batch.size() > 1 && kept == 0 ? 1 : 0;
}

// FFTW transforms contiguous lines in place by way of a buffer, of 2^16 points if there are as many, which it allocates
// at each call; glibc's arenas keep up to eight such holes a thread (tiles of 16 x 4096 complex floats: 4 MiB a thread
// that nobody counted). Of long lines a few a call need an eighth of that and take about as long, on an EPYC of family
// 26 in float: 4096 points 4.4 us a line (16 lines a call: 4.7), 8192 points 13.7 (14.1), 2048 points 1.7 (16 lines
// 1.6, 32 lines 1.75).
void take_few_lines_a_call(const Library& library, LocalSpec& spec, std::vector<LoopDim>& outer) {
    const bool lines = is_c2c(spec.kernel) && spec.in_place && spec.transform.size() == 1 && spec.batch.size() == 1;
    if (library.spec.is_mkl || !lines || spec.threads > 1) return;
    const LoopDim& line = spec.transform[0];
    if (line.in_stride != 1 || line.n < kBufferedPoints / 4) return;
    LoopDim& batch = spec.batch[0];
    const index_t most = std::clamp<index_t>(kBufferedPoints / line.n, 1, batch.n);
    index_t few = most;
    while (batch.n % few != 0) --few;
    if (few == batch.n || 2 * few < most) return;
    outer.push_back({batch.n / few, few * batch.in_stride, few * batch.out_stride});
    batch.n = few;
}

// A step for the spec with as few loops here as the library allows; null when it declines even one transform.
std::unique_ptr<Step> make_step(const Library& library, const Symbols& symbols, LocalSpec spec) {
    std::vector<LoopDim> outer;
    take_few_lines_a_call(library, spec, outer);
    for (;;) {
        auto step = std::make_unique<Step>(library, symbols, spec, outer);
        bool made = false;
        {
            std::lock_guard lock(planner_mutex());
            made = step->make();
        }
        if (made) return step;
        if (spec.batch.empty()) return nullptr;
        const size_t peeled = loop_to_peel(spec.batch);
        outer.push_back(spec.batch[peeled]);
        spec.batch.erase(spec.batch.begin() + static_cast<std::ptrdiff_t>(peeled));
    }
}

// The spec of the axes [first, last) out of several, with the others as batch loops. An in-place part takes the
// strides of one side of the spec; halved: the last axis has n/2+1 points there, for it is complex.
LocalSpec part_of(const LocalSpec& spec, size_t first, size_t last, Kernel kernel, bool halved) {
    LocalSpec part = spec;
    part.kernel = kernel;
    part.transform.assign(spec.transform.begin() + static_cast<std::ptrdiff_t>(first),
                          spec.transform.begin() + static_cast<std::ptrdiff_t>(last));
    for (size_t i = 0; i < spec.transform.size(); ++i) {
        if (i >= first && i < last) continue;
        LoopDim loop = spec.transform[i];
        if (halved && i + 1 == spec.transform.size()) loop.n = loop.n / 2 + 1;
        part.batch.push_back(loop);
    }
    return part;
}

LocalSpec in_place_on(LocalSpec part, index_t LoopDim::* side) {
    auto both = [side](LoopDim& loop) { loop.in_stride = loop.out_stride = loop.*side; };
    std::for_each(part.transform.begin(), part.transform.end(), both);
    std::for_each(part.batch.begin(), part.batch.end(), both);
    part.in_place = true;
    return canonical(part);
}

// Several axes as successive steps: the last (for r2c and c2r the halved) axis from input to output, the others in
// place, on the output after it or, for c2r, on the input before it; together where the library takes them together,
// unless they are asked for one by one.
std::unique_ptr<LocalFft> plan_in_parts(const Library& library, const Symbols& symbols, const LocalSpec& spec,
                                        bool one_by_one) {
    using Where = SteppedFft::Where;
    auto fft = std::make_unique<SteppedFft>();
    const size_t last = spec.transform.size() - 1;
    const bool c2r = spec.kernel == Kernel::c2r;
    const Kernel others = is_c2c(spec.kernel) ? spec.kernel : c2r ? Kernel::c2c_backward : Kernel::c2c_forward;
    const auto side = c2r ? &LoopDim::in_stride : &LoopDim::out_stride;
    auto add = [&](const LocalSpec& part, Where where) {
        auto step = make_step(library, symbols, part);
        const bool made = step != nullptr;
        if (made) fft->add(std::move(step), where);
        return made;
    };
    auto add_last = [&] { return add(canonical(part_of(spec, last, last + 1, spec.kernel, false)), Where::in_to_out); };
    auto add_others = [&] {
        const Where where = c2r ? Where::in_place_on_in : Where::in_place_on_out;
        auto others_of = [&](size_t first, size_t end) {
            return in_place_on(part_of(spec, first, end, others, !is_c2c(spec.kernel)), side);
        };
        if (!one_by_one && add(others_of(0, last), where)) return true;
        bool made = last > 1 || one_by_one;
        for (size_t axis = last; made && axis-- > 0;) made = add(others_of(axis, axis + 1), where);
        return made;
    };
    const bool made = c2r ? add_others() && add_last() : add_last() && add_others();
    return made ? std::move(fft) : nullptr;
}

class FftwInterfaceEngine : public Engine {
  public:
    explicit FftwInterfaceEngine(std::unique_ptr<Library> library) : library_(std::move(library)) {}

    std::string name() const override { return library_->spec.engine; }
    std::string version() const override { return library_->version; }
    std::string path() const override { return library_->path; }
    bool has_precision(Precision precision) const override { return symbols(precision).complete(); }

    Status supports(const LocalSpec& spec) const override {
        if (!has_precision(spec.precision)) {
            return error(Code::engine_error, "engine '", name(), "' can't do ", precision_name(spec.precision),
                         " here: ", library_->missing[static_cast<size_t>(spec.precision)]);
        }
        if (library_->spec.is_mkl && is_r2r(spec.kernel)) {
            // Its trigonometric transforms (dct1 at 1009 in float: 1.8e-6 where 2.4e-7 is allowed) also print.
            return error(Code::engine_error, "engine '", name(), "' is not used for ", kernel_name(spec.kernel),
                         ": its real-to-real transforms miss the accuracy rule; use fftw or ducc0");
        }
        const Symbols& s = symbols(spec.precision);
        const bool present = spec.kernel == Kernel::r2c   ? s.plan_r2c && s.execute_r2c
                             : spec.kernel == Kernel::c2r ? s.plan_c2r && s.execute_c2r
                             : is_r2r(spec.kernel)        ? s.plan_r2r && s.execute_r2r
                                                          : true;
        if (present) return {};
        return error(Code::engine_error, "engine '", name(), "' has no ", kernel_name(spec.kernel), " in ",
                     library_->path);
    }

    bool scales(const LocalSpec& spec) const override { return by_tiles(spec) || by_rows(spec); }

    Result<std::unique_ptr<LocalFft>> plan(const LocalSpec& asked) const override {
        const LocalSpec spec = canonical(asked);
        SPANFFT_TRY(supports(spec));
        if (is_empty(spec) || spec.transform.empty()) return make_copy(spec);
        const bool scaled = spec.scale != 1;
        if (by_tiles(spec)) {
            auto tiled = plan_tiled(*this, spec);
            if (tiled.ok() || scaled) return tiled;
        }
        if (by_rows(spec)) {
            auto rows = plan_rows(*this, spec);
            if (rows.ok() || scaled) return rows;
        }
        const Symbols& s = symbols(spec.precision);
        // MKL's c2r along several axes reads only half of a plane that it takes to be symmetric, so a spectrum that
        // is not quite Hermitian gives another answer than elsewhere; in parts it is that of numpy.fft.irfftn.
        const bool several = spec.transform.size() > 1;
        // Nor are its transforms along several axes what was checked axis by axis: (7, 11, 13) comes out at 0.60 units.
        const bool awkward = std::any_of(spec.transform.begin(), spec.transform.end(),
                                         [](const LoopDim& axis) { return largest_prime_factor(axis.n) > 5; });
        const bool in_parts = several && library_->spec.is_mkl && (spec.kernel == Kernel::c2r || awkward);
        if (auto step = in_parts ? nullptr : make_step(*library_, s, spec)) {
            if (step->wants_sharing()) return plan_shared_batch(*this, spec);
            auto fft = std::make_unique<SteppedFft>();
            fft->add(std::move(step), SteppedFft::Where::in_to_out);
            return std::unique_ptr<LocalFft>(std::move(fft));
        }
        if (several) {
            if (auto fft = plan_in_parts(*library_, s, spec, awkward)) return fft;
        }
        return error(Code::engine_error, "engine '", name(), "' (", version(), ") declines a ",
                     precision_name(spec.precision), " ", kernel_name(spec.kernel), " of length ",
                     spec.transform.back().n);
    }

    // MKL has the functions, and no wisdom.
    std::string learnt(Precision precision) const override {
        const Symbols& s = symbols(precision);
        if (library_->spec.is_mkl || !s.export_wisdom) return "";
        const std::lock_guard lock(planner_mutex());
        const std::unique_ptr<char, void (*)(void*)> text(s.export_wisdom(), std::free);
        return text ? text.get() : "";
    }
    bool learn(Precision precision, const std::string& text) const override {
        const Symbols& s = symbols(precision);
        if (library_->spec.is_mkl || !s.import_wisdom) return false;
        const std::lock_guard lock(planner_mutex());
        return s.import_wisdom(text.c_str()) != 0;
    }
    index_t measurements() const override { return library_->measured; }

  private:
    bool by_tiles(const LocalSpec& spec) const {
        const bool mkl = library_->spec.is_mkl;  // which minds no crowds
        return worth_tiling(spec, !mkl) && !(mkl && spec.kernel == Kernel::r2c);
    }
    // MKL fetches ahead itself in r2c and among short lines.
    bool by_rows(const LocalSpec& spec) const {
        if (!worth_rows(spec)) return false;
        return !library_->spec.is_mkl || (spec.kernel != Kernel::r2c && spec.transform.back().n >= 128);
    }
    const Symbols& symbols(Precision precision) const { return library_->symbols[static_cast<size_t>(precision)]; }

    std::unique_ptr<Library> library_;
};

std::string folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// "libfftw3.so.3" -> "libfftw3f.so.3", "libfftw3f_threads.so.3": how FFTW's files are named.
std::string sibling_name(const std::string& path, const std::string& suffix) {
    const std::string folder = folder_of(path);
    std::string name = path.substr(folder.size());
    const std::string stem = "libfftw3";
    const size_t at = name.find(stem);
    if (at == std::string::npos) return "";
    return folder + name.insert(at + stem.size(), suffix);
}

const char* debian_package(Precision precision) {
    return precision == Precision::single ? "libfftw3-single3"
           : precision == Precision::dbl  ? "libfftw3-double3"
                                          : "libfftw3-long3";
}

// Finds one precision: in the library itself (MKL, AOCL and Arm PL put several into one file), else in the file
// beside it that FFTW's naming gives.
void find_precision(Library& library, void* handle, const std::string& opened_as, Precision precision) {
    const auto at = static_cast<size_t>(precision);
    const std::string letter = precision == Precision::single ? "f" : precision == Precision::dbl ? "" : "l";
    auto threads_of = [&]() -> void* {
        for (const char* suffix : {"_threads", "_omp"}) {
            const std::string file = sibling_name(opened_as, letter + suffix);
            if (file.empty()) break;
            auto threads = open_library(file);
            if (threads.ok()) return threads.value();
        }
        return nullptr;
    };
    if (library.spec.is_mkl && precision == Precision::extended) {
        library.missing[at] = "MKL has none; use ducc0, or fftw with libfftw3l";
        return;
    }
    void* own = handle;
    const std::string file = letter.empty() ? opened_as : sibling_name(opened_as, letter);
    if (!find_symbols(handle, nullptr, precision).complete()) {
        auto opened = file.empty() ? error(Code::engine_error, "not in ", opened_as) : open_library(file);
        if (!opened.ok()) {
            const std::string name = file.substr(folder_of(file).size());
            library.missing[at] = cat(name.empty() ? opened_as : name, " not found; install ",
                                      debian_package(precision), " or use ducc0");
            return;
        }
        own = opened.value();
    }
    Symbols symbols = find_symbols(own, library.spec.is_mkl ? nullptr : threads_of(), precision);
    const bool threads_start = symbols.init_threads && symbols.init_threads() != 0;
    if (!threads_start) symbols.with_nthreads = nullptr;
    if (!symbols.complete()) library.missing[at] = cat(file, " has no guru64 interface");
    library.symbols[at] = std::move(symbols);
}

// Opens what MKL opens when it is first needed.
void load_kernels(const Library& library) {
    constexpr index_t n = 16;
    for (const Precision precision : {Precision::single, Precision::dbl}) {
        const Symbols& s = library.symbols[static_cast<size_t>(precision)];
        if (!s.complete()) continue;
        std::array<double, 2 * n> in{}, out{};
        const IoDim dim{n, 1, 1};
        Plan plan = s.plan_dft(1, &dim, 0, nullptr, in.data(), out.data(), kForward, kEstimate);
        if (!plan) continue;
        s.execute_dft(plan, in.data(), out.data());
        s.destroy(plan);
    }
}

std::string library_version(const Library& library, void* handle) {
    if (library.mkl.version) {
        char text[256] = {};
        library.mkl.version(text, sizeof text - 1);
        const std::string full = text;
        const size_t at = full.find("Version ");
        return at == std::string::npos ? full : full.substr(at + 8, full.find('-', at) - at - 8);
    }
    const void* text = dlsym(handle, "fftw_version");
    return text ? static_cast<const char*>(text) : "unknown";
}

Status fill_library(Library& library, void* handle, const std::string& opened_as) {
    const void* probe = dlsym(handle, "fftw_plan_guru64_dft");
    if (!probe) return error(Code::engine_error, opened_as, " has no fftw_plan_guru64_dft");
    library.path = file_of(probe);
    bool limited = false;
    if (library.spec.is_mkl) {
        const AddressSpace space = address_space_for_mkl(library.spec.engine, library.spec.path_variable);
        SPANFFT_TRY(space.status);
        limited = space.limited;
        library.mkl = prepare_mkl(handle, library.path);
    }
    for (Precision p : {Precision::single, Precision::dbl, Precision::extended}) {
        find_precision(library, handle, opened_as, p);
    }
    if (limited) load_kernels(library);
    library.version = library_version(library, handle);
    return {};
}

}  // namespace

Result<std::unique_ptr<Engine>> open_fftw_interface(const FftwLibrarySpec& spec,
                                                    const std::vector<std::string>& folders) {
    std::vector<std::string> candidates = spec.file_names;
    for (const std::string& folder : folders) {
        for (const std::string& name : spec.file_names) candidates.push_back(folder + "/" + name);
    }
    const char* forced = std::getenv(spec.path_variable.c_str());
    if (forced && std::string(forced) == "none") {
        return error(Code::engine_error, spec.path_variable, " is 'none'");
    }
    if (forced && *forced) candidates = {forced};
    std::string first_reason;
    for (const std::string& candidate : candidates) {
        auto handle = open_library(candidate);
        Status status = handle.status();
        if (handle.ok()) {
            auto library = std::make_unique<Library>();
            library->spec = spec;
            status = fill_library(*library, handle.value(), candidate);
            if (status.ok()) return std::unique_ptr<Engine>(new FftwInterfaceEngine(std::move(library)));
        }
        if (status.code() == Code::out_of_memory) return status;
        if (first_reason.empty()) first_reason = status.message();
    }
    if (forced && *forced) return error(Code::engine_error, spec.path_variable, ": ", first_reason);
    return error(Code::engine_error, first_reason, "; set ", spec.path_variable, " to its path");
}

}  // namespace spanfft
