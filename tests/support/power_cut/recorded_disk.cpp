// Operations, and states after them; see recorded_disk.hpp. Reads and writes files itself by C++'s streams, whose calls
// inside libc nobody records.
#include "recorded_disk.hpp"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

namespace spanfft::test {

namespace {

constexpr int64_t kRoot = 1;
constexpr size_t kSector = 512;

std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

// Those that programs may set.
std::map<std::string, std::string> attributes_of(const std::string& path) {
    std::map<std::string, std::string> found;
    char names[4096], value[65536];
    const ssize_t bytes = ::listxattr(path.c_str(), names, sizeof names);
    for (ssize_t at = 0; at < bytes; at += static_cast<ssize_t>(std::string(names + at).size()) + 1) {
        const std::string name = names + at;
        const ssize_t length = ::getxattr(path.c_str(), name.c_str(), value, sizeof value);
        if (length >= 0 && name.compare(0, 5, "user.") == 0) found[name] = std::string(value, size_t(length));
    }
    return found;
}

void put(std::string& content, size_t at, const std::string& bytes, size_t from, size_t count) {
    if (content.size() < at + count) content.resize(at + count, '\0');
    content.replace(at, count, bytes, from, count);
}

// Those units of the file that the bytes lie in that arrive.
template <class Arrives>
void put_torn(std::string& content, size_t at, const std::string& bytes, const Arrives& arrives) {
    for (size_t from = 0; from < bytes.size();) {
        const size_t count = std::min(bytes.size() - from, kSector - (at + from) % kSector);
        if (arrives((at + from) / kSector)) put(content, at + from, bytes, from, count);
        from += count;
    }
}

uint64_t mix(uint64_t hash, const std::string& text) {
    for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
        hash ^= hash >> 29;
    }
    return (hash ^ text.size()) * 0x9e3779b97f4a7c15ULL;
}

}  // namespace

const char* fate_name(Fate fate) {
    static const char* const names[kFates] = {"nothing unflushed",     "everything",         "names without data",
                                              "data without names",    "every other sector", "random",
                                              "random, names in order"};
    return names[static_cast<int>(fate)];
}

RecordedDisk::RecordedDisk(const std::string& root, const std::function<void(struct stat&)>& show)
    : root_(root), show_(show) {
    struct stat info{};
    (void)::lstat(root.c_str(), &info);
    scan(root, add(info, true));
}

bool RecordedDisk::holds(const std::string& path) const {
    return path.size() > root_.size() && path.compare(0, root_.size(), root_) == 0 && path[root_.size()] == '/';
}

int64_t RecordedDisk::add(const struct stat& info, bool folder) {
    const int64_t id = static_cast<int64_t>(files_.size()) + kRoot;
    ids_[{info.st_dev, info.st_ino}] = id;
    File& file = files_[id];
    file.folder = folder;
    file.shown = info;
    show_(file.shown);
    return id;
}

void RecordedDisk::scan(const std::string& path, int64_t id) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
        struct stat info{};
        if (::lstat(entry.path().c_str(), &info) != 0) continue;
        const bool known = knows(info);  // a second link
        const int64_t child = known ? id_of(info) : add(info, S_ISDIR(info.st_mode));
        files_[id].names[entry.path().filename()] = child;
        if (S_ISDIR(info.st_mode)) scan(entry.path(), child);
        if (!known && S_ISREG(info.st_mode)) {
            files_[child].content = content_of(entry.path());
            files_[child].attributes = attributes_of(entry.path());
        }
    }
    files_[id].now = files_[id].names;
}

int64_t RecordedDisk::folder_of(const std::string& path, std::string& name) const {
    if (!holds(path)) return 0;
    int64_t folder = kRoot;
    for (size_t begin = root_.size() + 1;;) {
        const size_t slash = path.find('/', begin);
        name = path.substr(begin, slash - begin);
        if (slash == std::string::npos) return folder;
        const auto& names = files_.at(folder).now;
        const auto next = names.find(name);
        if (next == names.end()) return 0;
        folder = next->second;
        begin = slash + 1;
    }
}

void RecordedDisk::name_changed(Kind kind, const std::string& path, int64_t id) {
    Operation operation;
    operation.kind = kind;
    operation.folder = folder_of(path, operation.name);
    if (operation.folder == 0) return;
    auto& names = files_[operation.folder].now;
    if (kind == Kind::create) names[operation.name] = id;
    if (kind == Kind::remove) {
        const auto found = names.find(operation.name);
        if (found == names.end()) return;
        id = found->second;
        names.erase(found);
    }
    operation.id = id;
    operations_.push_back(std::move(operation));
}

void RecordedDisk::created(const std::string& path, const struct stat& info, bool folder) {
    name_changed(Kind::create, path, add(info, folder));
}

void RecordedDisk::linked(const std::string& from, const std::string& to) {
    std::string name;
    const int64_t folder = folder_of(from, name);
    const bool known = folder != 0 && files_[folder].now.count(name) > 0;
    if (known) name_changed(Kind::create, to, files_[folder].now[name]);
    if (!known && holds(to)) trouble_ = "a link to a file elsewhere: " + to;
}

void RecordedDisk::removed(const std::string& path) { name_changed(Kind::remove, path, 0); }

void RecordedDisk::renamed(const std::string& from, const std::string& to, bool exchange) {
    Operation operation;
    operation.kind = exchange ? Kind::exchange : Kind::rename;
    operation.folder = folder_of(from, operation.name);
    if (operation.folder == 0 || folder_of(to, operation.new_name) != operation.folder) {
        if (holds(from) || holds(to)) trouble_ = "renamed from one folder to another: " + from + " to " + to;
        return;
    }
    auto& names = files_[operation.folder].now;
    operation.id = names[operation.name];
    if (exchange) {
        operation.other = names[operation.new_name];
        std::swap(names[operation.name], names[operation.new_name]);
    } else {
        names[operation.new_name] = operation.id;
        names.erase(operation.name);
    }
    operations_.push_back(std::move(operation));
}

void RecordedDisk::written(const struct stat& info, int64_t offset, std::string bytes) {
    if (!knows(info) || bytes.empty()) return;
    Operation operation;
    operation.kind = Kind::write;
    operation.id = id_of(info);
    operation.at = offset;
    operation.bytes = std::move(bytes);
    operations_.push_back(std::move(operation));
}

void RecordedDisk::sized(const struct stat& info, int64_t bytes, bool only_grows) {
    if (!knows(info)) return;
    Operation operation;
    operation.kind = only_grows ? Kind::grow : Kind::size;
    operation.id = id_of(info);
    operation.at = bytes;
    operations_.push_back(std::move(operation));
}

void RecordedDisk::attribute_set(const struct stat& info, const char* name, std::string value) {
    if (!knows(info)) return;
    Operation operation;
    operation.kind = Kind::set_attribute;
    operation.id = id_of(info);
    operation.name = name;
    operation.bytes = std::move(value);
    operations_.push_back(std::move(operation));
}

void RecordedDisk::attribute_removed(const struct stat& info, const char* name) {
    if (!knows(info)) return;
    Operation operation;
    operation.kind = Kind::remove_attribute;
    operation.id = id_of(info);
    operation.name = name;
    operations_.push_back(std::move(operation));
}

void RecordedDisk::flushed(const struct stat& info, const char* call) {
    if (!knows(info)) return;
    Operation operation;
    operation.id = id_of(info);
    operation.name = call;
    operations_.push_back(operation);
    const bool folder = files_[operation.id].folder;
    for (Operation& each : operations_) {
        const bool names = each.kind <= Kind::exchange;
        const bool attribute = each.kind == Kind::set_attribute || each.kind == Kind::remove_attribute;
        if (each.kind == Kind::flush || each.flushed >= 0 || (attribute && operation.name != "fsync")) continue;
        if (names ? folder && each.folder == operation.id : each.id == operation.id) each.flushed = operations();
    }
}

void RecordedDisk::mode_changed(const struct stat& info) {
    if (knows(info)) files_[id_of(info)].shown.st_mode = info.st_mode;
}

std::string RecordedDisk::describe(int64_t operation) const {
    if (operation < 1 || operation > operations()) return "none";
    const Operation& each = operations_[static_cast<size_t>(operation - 1)];
    static const char* const kinds[] = {"create", "remove", "rename",        "exchange",         "write",
                                        "size",   "grow",   "set attribute", "remove attribute", "flush"};
    std::ostringstream text;
    text << kinds[static_cast<int>(each.kind)] << " file " << each.id << " " << each.name;
    if (!each.new_name.empty()) text << " to " << each.new_name;
    if (each.kind == Kind::write) text << " bytes " << each.at << " to " << each.at + int64_t(each.bytes.size());
    if (each.kind == Kind::size || each.kind == Kind::grow) text << " " << each.at;
    return text.str();
}

std::vector<power_cut_cut> RecordedDisk::choose(bool all) const {
    std::vector<power_cut_cut> some;
    std::set<uint64_t> seen;
    const int64_t step = all ? 1 : std::max<int64_t>(1, operations() / 8);
    for (int64_t operation = 0; operation <= operations(); ++operation) {
        // Before a flush there is most that can be lost.
        const bool at_flush =
            operation < operations() && operations_[static_cast<size_t>(operation)].kind == Kind::flush;
        for (int fate = 0; fate < kFates; ++fate) {
            const bool sampled = fate >= static_cast<int>(Fate::sectors),
                       coins = fate >= static_cast<int>(Fate::random);
            if (sampled && operation % step != 0 && !at_flush) continue;
            const unsigned seeds = !coins ? 1 : all ? 8 : 2;
            for (unsigned i = 0; i < seeds; ++i) {
                const power_cut_cut cut{operation, fate, static_cast<unsigned>(operation) * 100 + i};
                if (seen.insert(state_after(cut).hash).second || operation == operations()) some.push_back(cut);
            }
        }
    }
    return some;
}

RecordedDisk::State RecordedDisk::state_after(const power_cut_cut& cut) const {
    const int64_t operation = cut.operation;
    const auto fate = static_cast<Fate>(cut.fate);
    State state;
    for (const auto& [id, file] : files_) {
        State::Node& node = state.nodes[id];
        node.folder = file.folder;
        node.id = id;
        node.content = file.content;
        node.attributes = file.attributes;
        node.names = file.names;
    }
    std::mt19937_64 random(cut.seed);
    const auto leaning = random() % 3;  // of four coins
    const auto coin = [&] { return random() % 4 <= leaning; };
    std::vector<const Operation*> unflushed_names;
    for (int64_t i = 0; i < operation; ++i) {
        const Operation& each = operations_[static_cast<size_t>(i)];
        if (each.kind <= Kind::exchange && (each.flushed < 0 || each.flushed > operation))
            unflushed_names.push_back(&each);
    }
    const Operation* const first_lost =
        unflushed_names.empty() ? nullptr : unflushed_names[random() % unflushed_names.size()];
    bool names_arrive = true;
    for (int64_t i = 0; i < operation; ++i) {
        const Operation& each = operations_[static_cast<size_t>(i)];
        const bool name = each.kind <= Kind::exchange;
        const bool safe = each.flushed >= 0 && each.flushed <= operation;
        bool kept = safe || fate == Fate::all || fate == (name ? Fate::names : Fate::data) || fate == Fate::sectors;
        bool torn = fate == Fate::sectors && !safe;
        if (!safe && fate == Fate::names_first && name) {
            names_arrive = names_arrive && &each != first_lost;
            kept = names_arrive;
        } else if (!safe && (fate == Fate::random || fate == Fate::names_first)) {
            kept = coin();
            torn = kept && each.kind == Kind::write && random() % 3 == 0;
        }
        if (!kept) continue;
        State::Node& node = state.nodes[each.id];
        std::map<std::string, int64_t>* const names = name ? &state.nodes[each.folder].names : nullptr;
        switch (each.kind) {
            case Kind::create:
                (*names)[each.name] = each.id;
                break;
            case Kind::remove:
                if (const auto found = names->find(each.name); found != names->end() && found->second == each.id)
                    names->erase(found);
                break;
            case Kind::rename:
                (*names)[each.new_name] = each.id;
                if (const auto found = names->find(each.name); found != names->end() && found->second == each.id)
                    names->erase(found);
                break;
            case Kind::exchange:
                (*names)[each.name] = each.other;
                (*names)[each.new_name] = each.id;
                break;
            case Kind::write:
                if (torn)
                    put_torn(node.content, static_cast<size_t>(each.at), each.bytes,
                             [&](size_t unit) { return fate == Fate::sectors ? unit % 2 == 0 : random() % 2 == 0; });
                else
                    put(node.content, static_cast<size_t>(each.at), each.bytes, 0, each.bytes.size());
                break;
            case Kind::size:
                node.content.resize(static_cast<size_t>(each.at), '\0');
                break;
            case Kind::grow:
                if (node.content.size() < static_cast<size_t>(each.at))
                    node.content.resize(static_cast<size_t>(each.at), '\0');
                break;
            case Kind::set_attribute:
                node.attributes[each.name] = each.bytes;
                break;
            case Kind::remove_attribute:
                node.attributes.erase(each.name);
                break;
            case Kind::flush:
                break;
        }
        if (!name && each.kind != Kind::flush) node.untouched = false;
    }
    // What no name leads to is no part of it.
    std::vector<int64_t> reached = {kRoot};
    for (size_t i = 0; i < reached.size(); ++i) {
        for (const auto& [name, id] : state.nodes[reached[i]].names) {
            state.hash = mix(mix(state.hash, name), state.nodes[id].content) + static_cast<uint64_t>(id);
            for (const auto& [attribute, value] : state.nodes[id].attributes)
                state.hash = mix(mix(state.hash, attribute), value);
            if (std::find(reached.begin(), reached.end(), id) == reached.end()) reached.push_back(id);
        }
    }
    for (auto node = state.nodes.begin(); node != state.nodes.end();) {
        const bool lost = std::find(reached.begin(), reached.end(), node->first) == reached.end();
        node = lost ? state.nodes.erase(node) : std::next(node);
    }
    return state;
}

void RecordedDisk::build_folder(const State& state, int64_t id, const std::string& path,
                                std::map<int64_t, std::string>& first_path,
                                std::map<std::pair<dev_t, ino_t>, ShownFile>& shown) const {
    for (const auto& [name, child] : state.nodes.at(id).names) {
        const State::Node& node = state.nodes.at(child);
        const File& file = files_.at(child);
        const std::string child_path = path + "/" + name;
        if (const auto link = first_path.find(child); link != first_path.end()) {
            std::filesystem::create_hard_link(link->second, child_path);
            continue;
        }
        first_path[child] = child_path;
        if (node.folder) {
            std::filesystem::create_directory(child_path);
            build_folder(state, child, child_path, first_path, shown);
        } else {
            std::ofstream(child_path, std::ios::binary)
                .write(node.content.data(), std::streamsize(node.content.size()));
            for (const auto& [attribute, value] : node.attributes)
                (void)::setxattr(child_path.c_str(), attribute.c_str(), value.data(), value.size(), 0);
        }
        std::filesystem::permissions(child_path, std::filesystem::perms(file.shown.st_mode & 07777));
        const struct timespec times[2] = {file.shown.st_atim, file.shown.st_mtim};
        if (node.untouched) (void)utimensat(AT_FDCWD, child_path.c_str(), times, AT_SYMLINK_NOFOLLOW);
        struct stat info{};
        if (::lstat(child_path.c_str(), &info) != 0) continue;
        shown[{info.st_dev, info.st_ino}] = {file.shown.st_ino, node.untouched, file.shown.st_ctim};
    }
}

std::map<std::pair<dev_t, ino_t>, ShownFile> RecordedDisk::build(const State& state) const {
    for (const auto& entry : std::filesystem::directory_iterator(root_)) std::filesystem::remove_all(entry.path());
    std::map<std::pair<dev_t, ino_t>, ShownFile> shown;
    std::map<int64_t, std::string> first_path;
    struct stat root{};
    if (::lstat(root_.c_str(), &root) == 0)
        shown[{root.st_dev, root.st_ino}] = {files_.at(kRoot).shown.st_ino, false, {}};
    build_folder(state, kRoot, root_, first_path, shown);
    return shown;
}

}  // namespace spanfft::test
