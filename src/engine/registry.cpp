// The engines of this machine and the choice among them; see engine.hpp.
//
// Method: candidates are ranked by expected rate; the first that supports the spec, is trusted at its lengths and
// does not decline it is taken. With spec.measure the candidates are timed instead, within a limit for all.
// Invariant: plan_local and forecast_local walk the same list by the same rules, so they name the same engine
// unless an engine declines a spec it claims to support, spec.measure finds another faster, or a length with a large
// prime factor is beyond what a forecast checks (kForecastLongest).
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "engine/ducc_engine.hpp"
#include "engine/engine.hpp"
#include "engine/fftw_interface.hpp"
#include "engine/long_line.hpp"
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

// How a spec may be done: by an engine alone, or in two sweeps of lines that it transforms; and with how many threads.
struct Way {
    const Engine* engine = nullptr;
    std::optional<LongLineForm> line;
    double seconds = 0;  // expected
    int threads = 1;
};

// Ways to do the spec, fastest expected first, with a sentence for each engine that is distrusted.
struct Candidates {
    std::vector<Way> ways;
    std::vector<std::string> passed_over;
    std::vector<std::string> declined;
};

// Whether an allowance has room for what engines hold meanwhile of what they transform in place: each thread a line.
bool engine_alone_fits(const LocalSpec& spec) {
    const index_t allowed_bytes = CheckAllowance::bytes();
    if (allowed_bytes == 0 || !spec.in_place) return true;
    const auto elem_bytes = static_cast<index_t>(ElemType{spec.precision, true}.bytes());
    index_t points = batch_count(spec), longest = 1;
    for (const LoopDim& axis : spec.transform) {
        points *= axis.n;
        longest = std::max(longest, axis.n);
    }
    const index_t lines = std::min<index_t>(spec.threads, points / longest);
    return (points + lines * longest) * elem_bytes / (is_c2c(spec.kernel) ? 1 : 2) <= allowed_bytes;
}

void add_ways(const Engine& engine, const LocalSpec& spec, const RateTable& rates, std::vector<Way>& ways) {
    const auto add = [&](int threads) {
        LocalSpec asked = spec;
        asked.threads = threads;
        ways.push_back({&engine, std::nullopt, expected_seconds(rates, engine.name(), asked), threads});
    };
    const int useful = useful_threads(rates, engine.name(), spec);
    if (!spec.sweeps || engine_alone_fits(spec)) {
        add(useful);
        if (useful != spec.threads && spec.measure) add(spec.threads);
    }
    if (!spec.sweeps) return;
    if (auto form = long_line_form(engine, spec, rates)) ways.push_back({&engine, form, form->seconds, spec.threads});
}

// Looks at ways in order of expected speed until one passes, or at all of them when the choice will be timed.
Candidates find_candidates(std::vector<Way> ways, const LocalSpec& spec, bool all, index_t longest_check) {
    std::stable_sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.seconds < b.seconds; });
    Candidates found;
    if (ways.empty())
        found.declined.push_back("in place engines hold a line once more, for which the memory budget has no room");
    for (Way& way : ways) {
        const Status status = way.engine->supports(spec);
        if (!status.ok()) {
            found.declined.push_back(status.message());
            continue;
        }
        // The lengths of a long line's sweeps were checked when its form was chosen.
        std::string reason = way.line ? "" : distrust(*way.engine, spec, longest_check);
        if (!reason.empty()) {
            found.passed_over.push_back(std::move(reason));
            continue;
        }
        found.ways.push_back(std::move(way));
        if (!all) break;
    }
    return found;
}

Candidates find_candidates(const LocalSpec& spec, const RateTable& rates, bool all, index_t longest_check = INT64_MAX) {
    std::vector<Way> ways;
    for (const auto& engine : engines()) add_ways(*engine, spec, rates, ways);
    Candidates found = find_candidates(std::move(ways), spec, all, longest_check);
    const std::vector<std::string>& unsafe = registry().passed_over;
    found.passed_over.insert(found.passed_over.begin(), unsafe.begin(), unsafe.end());
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

// The ways of an engine that was asked for; never none.
Result<Candidates> forced(const std::string& name, const LocalSpec& spec, const RateTable& rates, bool all,
                          index_t longest_check = INT64_MAX) {
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
    std::vector<Way> ways;
    add_ways(*engine, spec, rates, ways);
    Candidates found = find_candidates(std::move(ways), spec, all, longest_check);
    if (!found.ways.empty()) return found;
    const std::string& why = found.passed_over.empty() ? found.declined.at(0) : found.passed_over[0];
    return error(Code::engine_error, "engine '", name, "' was asked for, but ", why);
}

bool scales(const Way& way, const LocalSpec& spec) { return spec.scale == 1 || way.line || way.engine->scales(spec); }

std::string form_of(const Way& way) { return way.line ? way.line->describe() : ""; }

Result<EngineChoice> plan_on(const Way& way, const LocalSpec& spec) {
    EngineChoice choice;
    choice.engine = way.engine->name();
    choice.form = form_of(way);
    choice.scaled = scales(way, spec);
    LocalSpec planned = spec;
    planned.threads = way.threads;
    if (!choice.scaled) planned.scale = 1;
    SPANFFT_ASSIGN(auto fft, way.line ? plan_long_line(*way.engine, planned, *way.line) : way.engine->plan(planned));
    choice.fft = std::make_unique<CountedFft>(std::move(fft), *way.engine, work_of(planned));
    return choice;
}

// Times each candidate within its share of the limit; the first is taken when none can be timed.
Result<EngineChoice> plan_fastest(const Candidates& candidates, const LocalSpec& spec) {
    std::optional<EngineChoice> best;
    double best_seconds = 0;
    std::vector<std::string> declined = candidates.declined;
    const double share = kMeasureAllSeconds / static_cast<double>(std::max<size_t>(candidates.ways.size(), 1));
    for (const Way& way : candidates.ways) {
        auto choice = plan_on(way, spec);
        if (!choice.ok()) {
            declined.push_back(choice.status().message());
            continue;
        }
        const bool nothing_to_time = is_empty(spec) || spec.transform.empty();
        const auto measured = nothing_to_time ? Result<double>(0.0) : measure_seconds(*choice.value().fft, spec, share);
        if (best && (!measured.ok() || measured.value() >= best_seconds)) continue;
        best_seconds = measured.ok() ? measured.value() : way.seconds;
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

namespace {

// The first of the ways that does not decline after all; those that do are added to `declined`.
Result<EngineChoice> plan_first(Candidates& candidates, const LocalSpec& spec) {
    for (const Way& way : candidates.ways) {
        auto choice = plan_on(way, spec);
        if (choice.ok()) {
            choice.value().passed_over = candidates.passed_over;
            return choice;
        }
        candidates.declined.push_back(choice.status().message());
    }
    return no_engine(spec, candidates.passed_over, candidates.declined);
}

}  // namespace

Result<EngineChoice> plan_local(const LocalSpec& spec, const std::string& forced_engine, const RateTable& rates) {
    SPANFFT_TRY(check_spec(spec));
    if (!forced_engine.empty()) {
        SPANFFT_ASSIGN(Candidates ways, forced(forced_engine, spec, rates, spec.sweeps));
        if (ways.ways.size() == 1) return plan_on(ways.ways[0], spec);  // its own refusal says why
        return spec.measure ? plan_fastest(ways, spec) : plan_first(ways, spec);
    }
    if (spec.measure) return plan_fastest(find_candidates(spec, rates, true), spec);
    Candidates first = find_candidates(spec, rates, false);
    auto choice = plan_first(first, spec);
    if (choice.ok()) return choice;
    // The favourite declined after all, or there is none: ask every engine in turn.
    Candidates all = find_candidates(spec, rates, true);
    return plan_first(all, spec);
}

Result<EngineForecast> forecast_local(const LocalSpec& spec, const std::string& forced_engine, const RateTable& rates) {
    SPANFFT_TRY(check_spec(spec));
    Candidates found;
    if (!forced_engine.empty()) {
        SPANFFT_ASSIGN(found, forced(forced_engine, spec, rates, false, kForecastLongest));
        found.passed_over.clear();
    } else {
        found = find_candidates(spec, rates, false, kForecastLongest);
        if (found.ways.empty()) return no_engine(spec, found.passed_over, found.declined);
    }
    const Way& way = found.ways[0];
    EngineForecast forecast;
    forecast.passed_over = found.passed_over;
    forecast.engine = way.engine->name();
    forecast.seconds = way.seconds;
    forecast.scaled = scales(way, spec);
    forecast.form = form_of(way);
    forecast.own_bytes = way.line ? long_line_bytes(spec, *way.line) : 0;
    return forecast;
}

double outline_local(const LocalSpec& spec, const std::string& forced_engine, const RateTable& rates) {
    double fastest = std::numeric_limits<double>::infinity();
    for (const auto& engine : engines()) {
        const std::string name = engine->name();
        if ((forced_engine.empty() || name == forced_engine) && engine->supports(spec).ok())
            fastest = std::min(fastest, expected_seconds(rates, name, spec));
    }
    return std::isfinite(fastest) ? fastest : expected_seconds(rates, forced_engine, spec);
}

}  // namespace spanfft
