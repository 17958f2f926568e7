// The engines of this machine and the choice among them; see engine.hpp.
//
// Method: candidates are ranked by expected rate; the first that supports the spec, is trusted at its lengths and
// does not decline it is taken. With spec.measure the candidates are timed instead, within a limit for all.
// Invariant: plan_local and forecast_local walk the same list by the same rules, so they name the same engine
// unless an engine declines a spec it claims to support, spec.measure finds another faster, or a length with a large
// prime factor is beyond what a forecast checks (kForecastLongest).
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "engine/ducc_engine.hpp"
#include "engine/engine.hpp"
#include "engine/fftw_interface.hpp"
#include "engine/rates.hpp"
#include "engine/spec.hpp"
#include "engine/trust.hpp"

namespace spanfft {

namespace {

constexpr double kMeasureAllSeconds = 2.0;
constexpr index_t kForecastLongest = 1 << 22;  // a forecast checks trust up to here: about a second, 200 MB

struct Registry {
    std::mutex mutex;
    std::vector<std::string> folders;
    bool opened = false;
    std::vector<std::unique_ptr<Engine>> engines;
    std::map<std::string, std::string> absent;  // name -> why
    std::vector<std::string> passed_over;       // that are here, but not safe to use in this process
};

Registry& registry() {
    static Registry* instance = new Registry;  // never destroyed: plans may outlive static destruction
    return *instance;
}

// Engines that may do the spec, fastest expected first, with a sentence for each that is distrusted.
struct Candidates {
    std::vector<const Engine*> engines;
    std::vector<std::string> passed_over;
    std::vector<std::string> declined;
};

// Looks at engines in order of expected speed until one passes, or at all of them when the choice will be timed.
Candidates find_candidates(const LocalSpec& spec, bool all, index_t longest_check = INT64_MAX) {
    std::vector<const Engine*> order;
    for (const auto& engine : engines()) order.push_back(engine.get());
    std::stable_sort(order.begin(), order.end(), [&](const Engine* a, const Engine* b) {
        return expected_seconds(a->name(), spec) < expected_seconds(b->name(), spec);
    });
    Candidates found;
    found.passed_over = registry().passed_over;
    for (const Engine* engine : order) {
        const Status status = engine->supports(spec);
        if (!status.ok()) {
            found.declined.push_back(status.message());
            continue;
        }
        std::string reason = distrust(*engine, spec, longest_check);
        if (!reason.empty()) {
            found.passed_over.push_back(std::move(reason));
            continue;
        }
        found.engines.push_back(engine);
        if (!all) break;
    }
    return found;
}

Status no_engine(const LocalSpec& spec, const std::vector<std::string>& passed_over,
                 const std::vector<std::string>& declined) {
    std::string reasons;
    for (const auto* list : {&passed_over, &declined}) {
        for (const std::string& reason : *list) reasons += (reasons.empty() ? "" : "; ") + reason;
    }
    return error(Code::engine_error, "no engine can do this ", precision_name(spec.precision), " ",
                 kernel_name(spec.kernel), ": ", reasons);
}

Result<const Engine*> forced(const std::string& name, const LocalSpec& spec, index_t longest_check = INT64_MAX) {
    const Engine* engine = find_engine(name);
    if (!engine) {
        const std::string absence = engine_absence(name);
        if (!absence.empty()) {
            return error(Code::engine_error, "engine '", name, "' was not found here (", absence,
                         "); found: ", engine_names());
        }
        return error(Code::engine_error, "engine '", name, "' is not known here; found: ", engine_names());
    }
    SPANFFT_TRY(engine->supports(spec));
    const std::string reason = distrust(*engine, spec, longest_check);
    if (reason.empty()) return engine;
    return error(Code::engine_error, "engine '", name, "' was asked for, but ", reason);
}

bool scales(const Engine& engine, const LocalSpec& spec) { return spec.scale == 1 || engine.scales(spec); }

Result<EngineChoice> plan_on(const Engine& engine, const LocalSpec& spec) {
    EngineChoice choice;
    choice.engine = engine.name();
    choice.scaled = scales(engine, spec);
    LocalSpec planned = spec;
    if (!choice.scaled) planned.scale = 1;
    SPANFFT_ASSIGN(auto fft, engine.plan(planned));
    choice.fft = std::make_unique<CountedFft>(std::move(fft), engine, work_of(planned));
    return choice;
}

// Times each candidate within its share of the limit; the first is taken when none can be timed.
Result<EngineChoice> plan_fastest(const Candidates& candidates, const LocalSpec& spec) {
    std::optional<EngineChoice> best;
    double best_seconds = 0;
    std::vector<std::string> declined = candidates.declined;
    const double share = kMeasureAllSeconds / static_cast<double>(std::max<size_t>(candidates.engines.size(), 1));
    for (const Engine* engine : candidates.engines) {
        auto choice = plan_on(*engine, spec);
        if (!choice.ok()) {
            declined.push_back(choice.status().message());
            continue;
        }
        const bool nothing_to_time = is_empty(spec) || spec.transform.empty();
        const auto measured = nothing_to_time ? Result<double>(0.0) : measure_seconds(*choice.value().fft, spec, share);
        if (best && (!measured.ok() || measured.value() >= best_seconds)) continue;
        best_seconds = measured.ok() ? measured.value() : expected_seconds(engine->name(), spec);
        best = std::move(choice).value();
    }
    if (!best) return no_engine(spec, candidates.passed_over, declined);
    best->passed_over = candidates.passed_over;
    return std::move(*best);
}

}  // namespace

const std::vector<std::unique_ptr<Engine>>& engines() {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    if (r.opened) return r.engines;
    r.opened = true;
    // FFTW first: MKL's loader makes its own fftw_* names global, and a libfftw3 opened after it would be bound to
    // them.
    for (const FftwLibrarySpec& library : {fftw_library(), mkl_library()}) {
        auto engine = open_fftw_interface(library, r.folders);
        if (engine.ok()) {
            r.engines.push_back(std::move(engine).value());
        } else {
            r.absent[library.engine] = engine.status().message();
            if (engine.status().code() == Code::out_of_memory) r.passed_over.push_back(engine.status().message());
        }
    }
    r.engines.push_back(make_ducc_engine());
    return r.engines;
}

const Engine* find_engine(const std::string& name) {
    for (const auto& engine : engines()) {
        if (engine->name() == name) return engine.get();
    }
    return nullptr;
}

bool add_engine_search_path(const std::string& folder) {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    if (r.opened) return false;
    r.folders.push_back(folder);
    return true;
}

std::string engine_absence(const std::string& name) {
    engines();
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    const auto found = r.absent.find(name);
    return found == r.absent.end() ? "" : found->second;
}

std::string engine_names() {
    std::string names;
    for (const auto& engine : engines()) names += (names.empty() ? "" : ", ") + engine->name();
    return names;
}

Result<EngineChoice> plan_local(const LocalSpec& spec, const std::string& forced_engine) {
    SPANFFT_TRY(check_spec(spec));
    if (!forced_engine.empty()) {
        SPANFFT_ASSIGN(const Engine* engine, forced(forced_engine, spec));
        return plan_on(*engine, spec);
    }
    if (spec.measure) return plan_fastest(find_candidates(spec, true), spec);
    const Candidates first = find_candidates(spec, false);
    if (!first.engines.empty()) {
        auto choice = plan_on(*first.engines[0], spec);
        if (choice.ok()) {
            choice.value().passed_over = first.passed_over;
            return choice;
        }
    }
    // The favourite declined after all, or there is none: ask every engine in turn.
    Candidates all = find_candidates(spec, true);
    for (const Engine* engine : all.engines) {
        auto choice = plan_on(*engine, spec);
        if (choice.ok()) {
            choice.value().passed_over = all.passed_over;
            return choice;
        }
        all.declined.push_back(choice.status().message());
    }
    return no_engine(spec, all.passed_over, all.declined);
}

Result<EngineForecast> forecast_local(const LocalSpec& spec, const std::string& forced_engine) {
    SPANFFT_TRY(check_spec(spec));
    EngineForecast forecast;
    const Engine* engine = nullptr;
    if (!forced_engine.empty()) {
        SPANFFT_ASSIGN(engine, forced(forced_engine, spec, kForecastLongest));
    } else {
        const Candidates candidates = find_candidates(spec, false, kForecastLongest);
        if (candidates.engines.empty()) return no_engine(spec, candidates.passed_over, candidates.declined);
        engine = candidates.engines[0];
        forecast.passed_over = candidates.passed_over;
    }
    forecast.engine = engine->name();
    forecast.seconds = expected_seconds(forecast.engine, spec);
    forecast.scaled = scales(*engine, spec);
    return forecast;
}

}  // namespace spanfft
