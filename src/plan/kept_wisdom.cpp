// The user's file of wisdom; see kept_wisdom.hpp.
#include "plan/kept_wisdom.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "engine/engine.hpp"
#include "plan/machine.hpp"
#include "plan/user_files.hpp"
#include "plan/wisdom_store.hpp"

namespace spanfft {

namespace {

constexpr std::array kPrecisions = {Precision::single, Precision::dbl, Precision::extended};

WisdomSource source_of(const Engine& engine, Precision precision) {
    return {engine.name(), engine.version(), machine_identity(), precision_name(precision)};
}

}  // namespace

std::string wisdom_path() { return user_folder().empty() ? "" : user_folder() + "/wisdom.txt"; }

StoredWisdom read_wisdom() {
    const std::string path = wisdom_path();
    if (path.empty()) return {};
    const auto text = read_text(path);
    if (!text.ok()) return {"", cat("kept wisdom can't be used: ", text.status().message())};
    const WisdomStore store = WisdomStore::parse(text.value());
    if (store.foreign())
        return {"", cat("kept wisdom is not used: ", path, " does not begin with '", kWisdomHeader, "'; remove it")};
    if (store.damaged() == 0) return {text.value(), ""};
    return {store.print(), cat("kept wisdom: ", store.damaged(), " damaged lines of ", path, " are not used")};
}

std::string learn_wisdom(const std::string& text) {
    static std::mutex mutex;
    static std::string known;
    const std::lock_guard lock(mutex);
    if (text.empty() || text == known) return "";
    known = text;
    const WisdomStore store = WisdomStore::parse(text);
    std::string refused;
    for (const auto& engine : engines()) {
        for (const Precision precision : kPrecisions) {
            const auto texts = store.texts_of(source_of(*engine, precision));
            const auto taken = std::count_if(texts.begin(), texts.end(),
                                             [&](const std::string& each) { return engine->learn(precision, each); });
            if (texts.empty() || taken > 0) continue;
            refused += cat(refused.empty() ? "kept wisdom is not that of " : ", ", engine->name(), " in ",
                           precision_name(precision));
        }
    }
    return refused;
}

Status keep_wisdom() {
    static std::mutex mutex;
    static index_t kept = 0;  // measurements whose results are in the file
    const std::lock_guard lock(mutex);
    index_t measured = 0;
    for (const auto& engine : engines()) measured += engine->measurements();
    const std::string path = wisdom_path();
    if (measured == kept || path.empty()) return {};
    WisdomStore learnt;
    for (const auto& engine : engines()) {
        for (const Precision precision : kPrecisions) {
            const std::string text = engine->has_precision(precision) ? engine->learnt(precision) : "";
            learnt.add(source_of(*engine, precision), text);
        }
    }
    SPANFFT_ASSIGN(const FileLock lock_of_file, FileLock::take(path + ".lock"));
    SPANFFT_ASSIGN(const std::string text, read_text(path));
    WisdomStore store = WisdomStore::parse(text);
    if (store.foreign()) return error(Code::io_error, path, " does not begin with '", kWisdomHeader, "'; remove it");
    if (store.merge(learnt) > 0) SPANFFT_TRY(write_text(path, store.print()));
    kept = measured;
    return {};
}

Status forget_wisdom() {
    const std::string path = wisdom_path();
    if (path.empty()) return {};
    SPANFFT_ASSIGN(const FileLock lock, FileLock::take(path + ".lock"));
    SPANFFT_ASSIGN(const std::string text, read_text(path));
    if (text.empty() || WisdomStore::parse(text).foreign()) return {};
    return write_text(path, WisdomStore().print());
}

}  // namespace spanfft
