// Engine: one local FFT library behind one interface.
//
// Method: a LocalSpec says which transform to do on which strided data, in the manner of FFTW's guru
// interface; an Engine answers with a LocalFft that can be executed many times on equal spec'd data, or
// declines. Nothing above src/engine knows which library computed it; it only knows the library's name.
// Invariant: an engine never answers for a length at which it misses the accuracy rule (see trust.hpp).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/caches.hpp"
#include "core/dtype.hpp"
#include "core/extents.hpp"
#include "core/status.hpp"
#include "engine/rate_table.hpp"

namespace spanfft {

// One-dimensional real-to-real kinds carry FFTW's unnormalised definitions (= scipy.fft's, norm="backward").
enum class Kernel : int { c2c_forward, c2c_backward, r2c, c2r, dct1, dct2, dct3, dct4, dst1, dst2, dst3, dst4 };

const char* kernel_name(Kernel kernel);
constexpr bool is_r2r(Kernel k) { return k >= Kernel::dct1; }

// One loop: n points, strides in elements of the input and of the output type.
struct LoopDim {
    index_t n = 1;
    index_t in_stride = 0;
    index_t out_stride = 0;
    bool operator==(const LoopDim&) const = default;
};

// transform: the axes, slowest first; for r2c and c2r the last one is the halved one and n is the real length.
// For r2r there is exactly one transform axis. batch: loops over independent transforms, any number.
// Data is unnormalised: forward then backward multiplies by the product of logical sizes.
// An empty transform list is a copy (not for r2c and c2r); a loop with n == 0 in batch means nothing to do.
// In place, every input stride equals the output stride; for r2c and c2r the halved axis has stride 1 on both
// sides and every other real stride is twice the complex one (FFTW's padded layout).
struct LocalSpec {
    Kernel kernel = Kernel::c2c_forward;
    Precision precision = Precision::dbl;
    std::vector<LoopDim> transform;
    std::vector<LoopDim> batch;
    bool in_place = false;  // execute() will be called with in == out
    int threads = 1;
    long double scale = 1;                  // multiplies the result, by engines that do so on the way (Engine::scales)
    bool measure = false;                   // let the engine spend time to find its best plan (at planning only)
    Caches caches = cache_sizes();          // this rank's share, by which tiles are cut and stores streamed
    double memory_bytes_per_second = 19e9;  // copied by one thread of the machine that is planned for
    // A long line may be planned as two sweeps of short ones, with memory of the plan's own (engine/long_line.hpp): by
    // callers that count it (EngineForecast::own_bytes).
    bool sweeps = false;
    // Lines that lie side by side may be followed by memory that takes so many more, whose values nobody needs: an
    // engine may transform them too, where that fills its registers; they are no work that is counted.
    index_t spare_lines = 0;
};

class LocalFft {
  public:
    virtual ~LocalFft() = default;
    // Any pointers that are aligned to the real type; in == out exactly when spec.in_place. c2r may destroy
    // its input. Allocates nothing that the caller could count, may be called from any one thread at a time.
    virtual void execute(const void* in, void* out) const = 0;
};

// What an engine was given to do, counted as it is given.
struct LocalWork {
    double flops = 0;          // 5 n log2 n for each line of complex data, half that for real, unused lanes too
    index_t memory_bytes = 0;  // of the points that it reads and those that it writes, each once
    index_t executions = 0;
};
LocalWork operator-(const LocalWork& after, const LocalWork& before);
LocalWork work_of(const LocalSpec& spec);  // of one execution

class Engine {
  public:
    virtual ~Engine() = default;
    // How often plans that plan_local made with this engine were executed, in this process.
    index_t executions() const { return executions_.load(std::memory_order_relaxed); }
    void count_execution() const { executions_.fetch_add(1, std::memory_order_relaxed); }
    virtual std::string name() const = 0;     // "fftw", "mkl", "ducc0": what users force and explain prints
    virtual std::string version() const = 0;  // as the library reports it
    virtual std::string path() const = 0;     // of the shared object, or "built in"
    virtual bool has_precision(Precision precision) const = 0;
    // Whether this engine can do such a spec at all (precision, kernel), without building anything; the
    // message of a Code::engine_error says what is missing and how to get it.
    virtual Status supports(const LocalSpec& spec) const = 0;
    // Whether plan(spec) multiplies by spec.scale without a sweep of its own. Else spec.scale must be 1 there.
    virtual bool scales(const LocalSpec& spec) const = 0;
    // Code::engine_error with the reason when the engine declines this spec. The registry has checked the
    // spec (check_spec) before it asks.
    virtual Result<std::unique_ptr<LocalFft>> plan(const LocalSpec& spec) const = 0;

    // What the library learnt by measuring plans (LocalSpec::measure), FFTW's "wisdom", as a text that another process
    // with the same library can take in, so that it need not measure them; "" where there is none. learn() answers
    // whether the text was the library's own.
    virtual std::string learnt(Precision) const { return ""; }
    virtual bool learn(Precision, const std::string&) const { return false; }
    virtual index_t measurements() const { return 0; }  // plans that were measured in this process

  private:
    mutable std::atomic<index_t> executions_{0};
};

// An engine's plan that counts what it is given. One thread at a time, as for the plan itself, so nothing is atomic but
// the engine's own counter.
class CountedFft final : public LocalFft {
  public:
    CountedFft(std::unique_ptr<LocalFft> inner, const Engine& engine, const LocalWork& each)
        : inner_(std::move(inner)), engine_(engine), each_(each) {}
    void execute(const void* in, void* out) const override {
        inner_->execute(in, out);
        engine_.count_execution();
        ++executions_;
    }
    // So far.
    LocalWork done() const {
        return {static_cast<double>(executions_) * each_.flops, executions_ * each_.memory_bytes, executions_};
    }

  private:
    std::unique_ptr<LocalFft> inner_;
    const Engine& engine_;  // lives as long as the process
    const LocalWork each_;
    mutable index_t executions_ = 0;
};

// The engines found on this machine, FFTW, MKL, ducc0 as far as they are here. Thread-safe; found once.
// Where each is looked for: SPANFFT_FFTW_LIBRARY, SPANFFT_MKL_LIBRARY (a path, or "none"), the usual names,
// then the folders given to add_engine_search_path (the Python package passes its environment's lib).
const std::vector<std::unique_ptr<Engine>>& engines();
const Engine* find_engine(const std::string& name);      // nullptr when it was not found
bool add_engine_search_path(const std::string& folder);  // false: too late, engines() has been called
std::string engine_absence(const std::string& name);     // why an optional engine was not found; "" when it was
std::string engine_names();                              // "mkl, fftw, ducc0" for messages

// Plans spec on the engine that is named, or, for an empty name, on the one expected to be fastest among those
// that can do it and are trusted there. `chosen` gets the engine's name, `passed_over` a sentence for each
// engine that was declined on trust. A forced engine that misses the accuracy rule is an error, not a choice.
// `rates`: of the machine that is planned for (rates.hpp).
struct EngineChoice {
    std::unique_ptr<CountedFft> fft;
    std::string engine;
    bool scaled = true;  // false: spec.scale is left to the caller
    std::string form;    // "two sweeps of 4096 x 4096"; "" where the engine does the whole
    std::vector<std::string> passed_over;
};
Result<EngineChoice> plan_local(const LocalSpec& spec, const std::string& forced_engine, const RateTable& rates);
// The choice that plan_local would make and its expected seconds, without building anything. Lengths with a large
// prime factor are put to the trust check up to 2^22; beyond, the forecast assumes that the check will be passed.
struct EngineForecast {
    std::string engine;
    double seconds = 0;
    bool scaled = true;  // as in EngineChoice
    std::string form;
    index_t own_bytes = 0;  // what the plan will allocate, beside the engine
    std::vector<std::string> passed_over;
};
Result<EngineForecast> forecast_local(const LocalSpec& spec, const std::string& forced_engine, const RateTable& rates);
// The same seconds without any check of trust: for plans that compare hundreds of splits.
double outline_local(const LocalSpec& spec, const std::string& forced_engine, const RateTable& rates);

}  // namespace spanfft
