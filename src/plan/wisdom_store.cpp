// Lines of wisdom, and merging; see wisdom_store.hpp.
#include "plan/wisdom_store.hpp"

#include <algorithm>
#include <map>

#include "core/status.hpp"
#include "core/text.hpp"
#include "disk/checksum.hpp"

namespace spanfft {

namespace {

constexpr size_t kTailBytes = 18;  // " #" and 16 digits
constexpr size_t kEntryWords = 9;  // a solver's name and number, flags, signature

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    TextReader reader(text);
    for (std::string line; std::getline(reader, line);) lines.push_back(line);
    return lines;
}

std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    TextReader reader(text);
    for (std::string word; reader >> word;) words.push_back(word);
    return words;
}

std::string field(std::string text) {
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    return text;
}

std::string prefix_of(const WisdomSource& source) {
    return cat(field(source.engine), '\t', field(source.version), '\t', field(source.machine), '\t',
               field(source.precision), '\t');
}

// A line without the solver that its entry names: what it is about. A later version's line is about itself.
std::string key_of(const std::string& line) {
    const size_t at = line.rfind('\t') + 1;
    const auto words = words_of(line.substr(at));
    if (words.size() != kEntryWords) return line;
    std::string key = line.substr(0, at);
    for (size_t i = 2; i < words.size(); ++i) key += words[i] + ' ';
    return key;
}

}  // namespace

int WisdomStore::add_line(const std::string& line) {
    if (!keys_.insert(key_of(line)).second) return 0;
    lines_.push_back(line);
    return 1;
}

WisdomStore WisdomStore::parse(const std::string& text) {
    WisdomStore store;
    const auto lines = lines_of(text);
    store.foreign_ = !lines.empty() && lines[0] != kWisdomHeader;
    if (store.foreign_) return store;
    for (size_t i = 1; i < lines.size(); ++i) {
        const std::string& line = lines[i];
        const size_t length = line.size() < kTailBytes ? 0 : line.size() - kTailBytes;
        uint64_t told = 0;
        const bool good = length > 0 && line.compare(length, 2, " #") == 0 &&
                          parse_hex(line.substr(length + 2), told) &&
                          told == checksum(line.data(), static_cast<index_t>(length));
        if (good) {
            store.add_line(line.substr(0, length));
        } else {
            ++store.damaged_;
        }
    }
    return store;
}

std::string WisdomStore::print() const {
    std::string text = cat(kWisdomHeader, "\n");
    for (const std::string& line : lines_)
        text += line + " #" + hex_of(checksum(line.data(), static_cast<index_t>(line.size()))) + "\n";
    return text;
}

int WisdomStore::add(const WisdomSource& source, const std::string& library_text) {
    const auto lines = lines_of(library_text);
    if (lines.empty() || lines[0].empty() || lines[0][0] != '(') return 0;
    const std::string prefix = prefix_of(source) + field(lines[0]) + '\t';
    int added = 0;
    for (size_t i = 1; i < lines.size(); ++i) {
        const auto words = words_of(lines[i]);
        if (words.size() != kEntryWords || words[0][0] != '(' || words.back().back() != ')') continue;
        std::string entry;
        for (const std::string& word : words) entry += (entry.empty() ? "" : " ") + word;
        added += add_line(prefix + entry);
    }
    return added;
}

int WisdomStore::merge(const WisdomStore& other) {
    int added = 0;
    for (const std::string& line : other.lines_) added += add_line(line);
    return added;
}

std::vector<std::string> WisdomStore::texts_of(const WisdomSource& source) const {
    const std::string prefix = prefix_of(source);
    std::map<std::string, std::string> texts;  // by head
    for (const std::string& line : lines_) {
        if (line.compare(0, prefix.size(), prefix) != 0) continue;
        const size_t end = line.find('\t', prefix.size());
        if (end == std::string::npos || line.find('\t', end + 1) != std::string::npos) continue;  // a later version's
        texts[line.substr(prefix.size(), end - prefix.size())] += "  " + line.substr(end + 1) + "\n";
    }
    std::vector<std::string> all;
    for (const auto& [head, entries] : texts) all.push_back(cat(head, "\n", entries, ")\n"));
    return all;
}

}  // namespace spanfft
