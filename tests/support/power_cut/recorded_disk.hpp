// RecordedDisk: what a program did to the files below a folder, and what a power cut after each operation may leave.
//
// Model: a write, or a change of a file's size, is on the disk when a later fsync or fdatasync of that file has ended;
// until then it is kept, dropped or torn (units of 512 bytes of the file arrive or don't), each operation by itself.
// An extended attribute is on the disk when its file was flushed by fsync; until then it is kept or dropped.
// A name that was given, taken away or changed is on the disk when its folder was flushed after it; until then it is
// kept or dropped, and a rename is one operation: both its names are old or both are new. A file whose name is lost is
// lost. Nothing else makes anything durable: neither close nor O_DIRECT nor a flush of the file its name.
// A state that is built has the files' inode numbers, as stat tells them (interposed.cpp), and of files that nothing
// happened to their times: they are the same files to whoever looks.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "power_cut.h"

namespace spanfft::test {

// What becomes of the operations that no flush covers.
enum class Fate {
    none,                                    // the disk has what was flushed, and nothing else
    all = POWER_CUT_EVERYTHING,              // everything arrived, as if the process had been killed
    names,                                   // names, and no data: a new name leads to old bytes
    data,                                    // data, and no names
    sectors,                                 // names, and of what was written every other 512 bytes of the file
    random,                                  // by a coin each, torn too; a seed's coins lean to either side
    names_first = POWER_CUT_NAMES_IN_ORDER,  // data by a coin; names as they were given, up to a random one
};
constexpr int kFates = POWER_CUT_FATES;
const char* fate_name(Fate fate);

struct ShownFile {  // what stat is to say of a file that a state was built with
    ino_t inode = 0;
    bool untouched = false;
    struct timespec changed{};
};

class RecordedDisk {
  public:
    // `root`: from the root, without links. What is below it now is taken to be on the disk.
    // `show` makes of what stat says what programs are told.
    RecordedDisk(const std::string& root, const std::function<void(struct stat&)>& show);
    const std::string& root() const { return root_; }
    bool holds(const std::string& path) const;

    // What happened, in order. Files are known by what (the real) fstat says.
    void created(const std::string& path, const struct stat& info, bool folder);
    void linked(const std::string& from, const std::string& to);
    void removed(const std::string& path);
    void renamed(const std::string& from, const std::string& to, bool exchange);
    void written(const struct stat& info, int64_t offset, std::string bytes);
    void sized(const struct stat& info, int64_t bytes, bool only_grows);
    void attribute_set(const struct stat& info, const char* name, std::string value);
    void attribute_removed(const struct stat& info, const char* name);
    void flushed(const struct stat& info, const char* call);
    void mode_changed(const struct stat& info);
    // false: no file of this disk.
    bool knows(const struct stat& info) const { return ids_.count({info.st_dev, info.st_ino}) > 0; }

    int64_t operations() const { return static_cast<int64_t>(operations_.size()); }
    std::string describe(int64_t operation) const;           // 1 is the first
    const std::string& trouble() const { return trouble_; }  // what the model does not have; empty: nothing

    struct State {
        struct Node {
            bool folder = false;
            int64_t id = 0;
            std::string content;
            bool untouched = true;
            std::map<std::string, int64_t> names;  // of a folder
            std::map<std::string, std::string> attributes;
        };
        std::map<int64_t, Node> nodes;
        uint64_t hash = 0;
    };
    // After `operation` operations: 0 is before the first one.
    State state_after(const power_cut_cut& cut) const;
    // Cuts whose states differ, of all operations; and all of the last one, behind which the program has said that it
    // is done. At each: what was flushed and nothing else, everything, names without data and data without names.
    // Before each flush and at some other operations also every other sector and coins for all that was not flushed;
    // with `all` at all operations, several each.
    std::vector<power_cut_cut> choose(bool all) const;
    // Replaces all that is below the root by it.
    std::map<std::pair<dev_t, ino_t>, ShownFile> build(const State& state) const;

  private:
    enum class Kind { create, remove, rename, exchange, write, size, grow, set_attribute, remove_attribute, flush };
    struct Operation {
        Kind kind = Kind::flush;
        int64_t id = 0, folder = 0, other = 0;  // file; its folder; exchange: the other file
        std::string name, new_name, bytes;
        int64_t at = 0;
        int64_t flushed = -1;  // the operation that flushed it
    };
    struct File {
        bool folder = false;
        std::string content;                            // at first
        std::map<std::string, std::string> attributes;  // at first
        std::map<std::string, int64_t> names;           // at first
        std::map<std::string, int64_t> now;
        struct stat shown{};
    };
    int64_t add(const struct stat& info, bool folder);
    void scan(const std::string& path, int64_t id);
    int64_t folder_of(const std::string& path, std::string& name) const;  // 0: unknown
    int64_t id_of(const struct stat& info) const { return ids_.at({info.st_dev, info.st_ino}); }
    void name_changed(Kind kind, const std::string& path, int64_t id);
    void build_folder(const State& state, int64_t id, const std::string& path,
                      std::map<int64_t, std::string>& first_path,
                      std::map<std::pair<dev_t, ino_t>, ShownFile>& shown) const;

    std::string root_, trouble_;
    std::function<void(struct stat&)> show_;
    std::map<std::pair<dev_t, ino_t>, int64_t> ids_;
    std::map<int64_t, File> files_;
    std::vector<Operation> operations_;
};

}  // namespace spanfft::test
