// Records, merging, and the user's file; see tuning_store.hpp.
#include "plan/tuning_store.hpp"

#include <algorithm>
#include <charconv>
#include <mutex>

#include "plan/user_files.hpp"

namespace spanfft {

namespace {

constexpr const char* kHeader = "spanfft-tuning 1";

// Tabs and line ends separate fields and records.
std::string clean(std::string text) {
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    return text;
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts{""};
    for (char c : text) {
        if (c == separator) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

template <class Number>
bool read_number(const std::string& text, Number& value) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parse_choice(const std::string& text, Tuned& record) {
    for (const std::string& word : split(text, ' ')) {
        if (word.empty()) continue;
        const size_t equals = word.find('=');
        if (equals == std::string::npos) return false;
        const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
        if (name == "grid") {
            for (const std::string& part : split(value, 'x')) {
                record.grid.push_back(0);
                if (!read_number(part, record.grid.back())) return false;
            }
        } else if (name == "exchange") {
            record.exchange = value;
        } else if (name == "engine") {
            record.engine = value;
        } else if (name == "threads") {
            if (!read_number(value, record.threads)) return false;
        } else {
            return false;  // a later version's
        }
    }
    return true;
}

bool same_key(const Tuned& a, const Tuned& b) {
    return a.key.machine == b.key.machine && a.key.library == b.key.library && a.key.ranks == b.key.ranks &&
           a.key.nodes == b.key.nodes && a.problem == b.problem;
}

// What this process gained, for where no file can be written.
std::mutex& gained_mutex() {
    static std::mutex mutex;
    return mutex;
}
TuningStore& gained() {
    static TuningStore store;
    return store;
}

}  // namespace

std::string Tuned::choice() const {
    std::string text;
    const auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
    if (!grid.empty()) add("grid=" + shape_string(grid));
    if (!exchange.empty()) add("exchange=" + exchange);
    if (!engine.empty()) add("engine=" + engine);
    if (threads) add(cat("threads=", threads));
    return text;
}

std::string Tuned::print() const {
    // All digits: a record that was rounded on its way to the file would be slower than itself, and replaced by itself.
    char digits[32];
    const std::string exact_seconds(digits, std::to_chars(digits, digits + sizeof digits, seconds).ptr);
    TextWriter out;
    out << "tuned\t" << clean(key.machine) << '\t' << clean(key.library) << '\t' << key.ranks << '\t' << key.nodes
        << '\t' << clean(problem) << '\t' << choice() << '\t' << exact_seconds << '\t' << date;
    return out.str();
}

std::optional<Tuned> Tuned::parse(const std::string& line) {
    const auto fields = split(line, '\t');
    if (fields.size() != 9 || fields[0] != "tuned") return std::nullopt;
    Tuned record;
    record.key.machine = fields[1];
    record.key.library = fields[2];
    record.problem = fields[5];
    record.date = fields[8];
    if (!read_number(fields[3], record.key.ranks) || !read_number(fields[4], record.key.nodes) ||
        !parse_choice(fields[6], record) || !read_number(fields[7], record.seconds) || !(record.seconds > 0))
        return std::nullopt;
    return record;
}

bool Tuned::fits(const Problem& p) const {
    return (p.grid.empty() || p.grid == grid) && (p.exchange.empty() || p.exchange == exchange) &&
           (p.engine.empty() || p.engine == engine) && (p.threads == 0 || p.threads == threads);
}

Problem Tuned::apply(Problem p) const {
    p.grid = grid;
    p.exchange = exchange;
    if (!engine.empty()) p.engine = engine;
    if (threads) p.threads = threads;
    return p;
}

Problem tuning_twin(const Problem& problem) {
    Problem twin = problem;
    twin.direction = Direction::forward;
    twin.norm = Norm::backward;
    twin.effort = Effort::estimate;
    twin.measure_seconds = 0;
    twin.in_place = false;
    twin.own_output = false;
    twin.own_input = false;
    return twin;
}

TuningStore TuningStore::parse(const std::string& text) {
    TuningStore store;
    TextReader lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line == kHeader) continue;
        if (const auto record = Tuned::parse(line)) {
            store.add(*record);
        } else if (std::find(store.others_.begin(), store.others_.end(), line) == store.others_.end()) {
            store.others_.push_back(line);
        }
    }
    return store;
}

std::string TuningStore::print() const {
    std::vector<std::string> lines = others_;
    for (const Tuned& record : records_) lines.push_back(record.print());
    std::sort(lines.begin(), lines.end());  // whatever the order of merging, the same file
    std::string text = std::string(kHeader) + "\n";
    for (const auto& line : lines) text += line + "\n";
    return text;
}

bool TuningStore::add(const Tuned& record) {
    for (Tuned& known : records_) {
        if (!same_key(known, record) || known.choice() != record.choice()) continue;
        if (known.seconds <= record.seconds) return false;
        known = record;
        return true;
    }
    records_.push_back(record);
    return true;
}

int TuningStore::merge(const TuningStore& other) {
    int added = 0;
    for (const Tuned& record : other.records_) added += add(record);
    for (const auto& line : other.others_) {
        if (std::find(others_.begin(), others_.end(), line) != others_.end()) continue;
        others_.push_back(line);
        ++added;
    }
    return added;
}

const Tuned* TuningStore::find(const TuningKey& key, const Problem& problem) const {
    const auto fastest = [&](const Problem& asked) {
        const std::string text = clean(tuning_twin(asked).print());
        const Tuned* best = nullptr;
        for (const Tuned& r : records_) {
            const bool same = r.key.machine == clean(key.machine) && r.key.ranks == key.ranks &&
                              r.key.nodes == key.nodes && r.problem == text &&
                              (key.library.empty() || r.key.library == clean(key.library));
            if (same && r.fits(problem) && (!best || r.seconds < best->seconds)) best = &r;
        }
        return best;
    };
    if (const Tuned* own = fastest(problem)) return own;
    Problem open = problem;
    open.grid.clear();
    open.exchange.clear();
    open.engine.clear();
    open.threads = 0;
    return fastest(open);
}

int TuningStore::forget(const std::string& problem) {
    const size_t before = records_.size() + others_.size();
    std::erase_if(records_, [&](const Tuned& r) { return problem.empty() || r.problem == problem; });
    if (problem.empty()) others_.clear();
    return static_cast<int>(before - records_.size() - others_.size());
}

std::string tuning_path() { return user_folder().empty() ? "" : user_folder() + "/tuning.txt"; }

Result<TuningStore> read_tuning() {
    static std::mutex mutex;
    static std::string read_path;
    static uint64_t stamp = 0;
    static TuningStore kept;
    const std::lock_guard lock(mutex);
    const std::string path = tuning_path();
    const uint64_t now = path.empty() ? 0 : file_stamp(path);
    if (path != read_path || now != stamp) {
        SPANFFT_ASSIGN(const std::string text, path.empty() ? Result<std::string>(std::string()) : read_text(path));
        kept = TuningStore::parse(text);
        read_path = path;
        stamp = now;
    }
    TuningStore all = kept;
    const std::lock_guard gained_lock(gained_mutex());
    all.merge(gained());
    return all;
}

TuningStore gained_here() {
    const std::lock_guard lock(gained_mutex());
    return gained();
}

Result<int> gain_tuning(const TuningStore& more) {
    const std::string path = tuning_path();
    if (path.empty()) {
        const std::lock_guard gained_lock(gained_mutex());
        return gained().merge(more);
    }
    const auto keep_here = [&] {
        const std::lock_guard gained_lock(gained_mutex());
        gained().merge(more);
    };
    auto lock = FileLock::take(path + ".lock");
    if (!lock.ok()) {
        keep_here();
        return lock.status();
    }
    const auto text = read_text(path);
    if (!text.ok()) {
        keep_here();
        return text.status();
    }
    TuningStore store = TuningStore::parse(text.value());
    const int added = store.merge(more);
    if (added == 0) return 0;
    const Status written = write_text(path, store.print());
    if (written.ok()) return added;
    keep_here();
    return written;
}

Result<int> forget_tuning(const std::string& problem) {
    int here = 0;
    {
        const std::lock_guard gained_lock(gained_mutex());
        here = gained().forget(problem);
    }
    const std::string path = tuning_path();
    if (path.empty()) return here;
    SPANFFT_ASSIGN(const FileLock lock, FileLock::take(path + ".lock"));
    SPANFFT_ASSIGN(const std::string text, read_text(path));
    TuningStore store = TuningStore::parse(text);
    const int removed = store.forget(problem);
    if (removed > 0) SPANFFT_TRY(write_text(path, store.print()));
    return std::max(removed, here);
}

}  // namespace spanfft
