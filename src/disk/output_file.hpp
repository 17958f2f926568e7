// OutputFile: a file that appears under its name only when it is whole; ScratchFile: one that never outlives its run.
//
// Method: the output is written as a hidden ".NAME.XXXXXX.spanfft-partial" beside its name, locked with flock, and
// renamed over it at the end after fsync. Scratch loses its name as soon as it is open, so that the kernel frees it
// whatever happens. A lock dies with its process: whoever starts next in a folder removes partial files that
// nobody holds. Between creating a file and locking it another start may take it for a dead run's: after locking,
// the creator looks whether its name still leads to its file, and begins again if not.
// A run with a journal gives both names that a later one can find (KeptFiles), with marks of the moment that they are
// of (kept_mark.hpp), and leaves them there when it fails. Until it has its name only its user can read an output, and
// scratch always.
// Invariant: at every instant the output's name leads to what was there before, or to the whole new file, which nobody
// can read who could not read the old one, or the input where there was none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "disk/file_store.hpp"
#include "disk/kept_mark.hpp"

namespace spanfft {

// Removes partial and scratch files in `folder` that no living process holds; returns how many.
int remove_stale_files(const std::string& folder);

// Whether two paths lead to the same existing file.
bool same_file(const std::string& a, const std::string& b);

std::vector<std::string> names_in(const std::string& folder);  // none where it can't be read

// Whether a name still leads to the file that is open.
bool leads_to(const std::string& path, int descriptor);

Status sync_folder(const std::string& folder);  // names in it survive a power cut

std::string folder_of(const std::string& path);  // "." when path names none

// Where an output of this name goes: a symbolic link's target, whether it is there or not, else the path itself. A link
// that somebody else has put into a folder that everyone can write is refused.
Result<std::string> behind_links(const std::string& path);

// A hidden name beside a file, of its own name and `tail`, cut where a name can't be so long.
std::string hidden_beside(const std::string& path, const std::string& tail);

// A new file of a hidden name beside `path`, locked: remove_stale_files leaves it alone until it is closed.
struct LockedFile {
    int descriptor = -1;
    std::string path;
};
Result<LockedFile> create_partial(const std::string& path);

// Who may read a file that will be called `path`: of a new one, whom the umask and the input, if any, allow; else those
// who could read the one before.
Status give_mode(int descriptor, const std::string& path, const std::string& input_path);

// Whether they are folders that can be written, and no two the same.
Status check_scratch_folders(const std::vector<std::string>& folders);

// Scratch besides an OutputFile's: after cleaning up and checking free space. `stem` is for whoever looks for it.
Result<std::unique_ptr<FileStore>> make_scratch_file(const std::string& folder, const std::string& stem, index_t bytes);
// Names that depend on what is asked for alone: ".NAME.KEY.spanfft-journal" in the first scratch folder and so on.
struct KeptFiles {
    std::string journal, output;  // paths
    // One a folder: scratch, and what chunked arrays are copied to or from.
    std::vector<std::string> scratch, staged_input, staged_output;
};
// `shared_folder`: as in OutputRequest.
KeptFiles kept_files(const std::string& output_path, const std::vector<std::string>& scratch_folders,
                     const std::string& shared_folder, const std::string& key);
// What is said where a file system can't lock.
Status no_lock(int errno_value, const std::string& what);

struct OutputRequest {
    std::string path;
    std::string input_path;      // refused when it is the same file; may be empty
    std::string permissions_of;  // a new output is readable to nobody whom this is not; empty: the input
    std::string header;          // written in front of the payload
    index_t payload_bytes = 0;
    // A disk each, ideally; over several, scratch is striped (striped_store.hpp). Empty: the output's folder.
    std::vector<std::string> scratch_folders;
    index_t scratch_bytes = 0;
    // 0: striped for any use. Else block q is on disk q mod D, as P1 has it, for as many disks as scratch_disks says.
    index_t scratch_block_bytes = 0;
    int scratch_disks = 1;
    // Of files besides, which chunked arrays are copied into or out of; 0: none.
    index_t staged_input_bytes = 0, staged_output_bytes = 0;
    // Where they are if other ranks read and write them too, by their names, which they have for as long as the run
    // lasts: a file server takes a file away whose name goes, whoever has it open elsewhere. Empty: as scratch.
    std::string shared_folder = {};
    index_t extra_bytes = 0;  // behind the payload, until the output is published
    std::optional<KeptFiles> kept = {};
    uint64_t run = 0;                 // in the marks of kept files
    bool reopen = false;              // kept files of a run that did not end
    bool published = false;           // nearly: the output may have been shortened to what it is when it is whole
    const char* what = "the output";  // for messages
};

// How much of a striped scratch lies together on one disk: a block of a transform in two sweeps rarely has more, and a
// disk is at its full rate from an eighth of it on.
constexpr index_t kStripeBlockBytes = index_t{256} << 10;

class OutputFile {
  public:
    // Cleans up after dead runs, checks the scratch folders (needed or not), free space for output and scratch,
    // reserves it and writes the header.
    static Result<std::unique_ptr<OutputFile>> create(const OutputRequest& request);
    ~OutputFile();  // removes the partial file unless publish() succeeded, and kept scratch
    void keep(bool whether = true) { keep_ = whether; }  // nothing is removed: a later run reopens it
    Status mark(const KeptMark& mark);                   // all kept files
    std::string missing() const;                         // a kept file whose name is gone, or ""
    std::vector<std::string> kept_paths() const;
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    Store& store() { return *store_; }
    Store* scratch() { return scratch_.get(); }            // nullptr when scratch_bytes was 0
    Store* staged_input() { return staged_input_.get(); }  // likewise
    Store* staged_output() { return staged_output_.get(); }
    // For other ranks, which write into them too; of what is staged only in a shared folder.
    const std::string& partial_path() const { return partial_path_; }
    const std::string& staged_input_path() const { return staged_input_path_; }
    const std::string& staged_output_path() const { return staged_output_path_; }
    index_t payload_offset_bytes() const { return payload_offset_bytes_; }
    // Flushes and renames; then the file has its name, and a power cut does not take it away.
    Status publish();

  private:
    OutputFile() = default;
    Status create_output(const OutputRequest& request, index_t bytes);
    Result<std::unique_ptr<Store>> create_shared(const std::string& folder, const std::string& stem, index_t bytes,
                                                 std::string& path);
    // Sizes and header of kept files: a journal that says that panels are done speaks of files that can be gone on
    // with.
    Status flush_kept();
    std::string path_, partial_path_, staged_input_path_, staged_output_path_;
    index_t payload_offset_bytes_ = 0;
    // A lock has a descriptor of its own: what an io_uring was given stays open for a moment after its process died.
    std::vector<int> locks_;
    std::unique_ptr<FileStore> store_;
    std::unique_ptr<Store> scratch_, staged_input_, staged_output_;
    bool published_ = false, keep_ = false;
    std::vector<std::string> named_;  // all files but the output that have names, which go with this
    index_t whole_bytes_ = 0;
    std::string permissions_of_;  // a new output has at most
    struct Marked {
        std::string path;
        int descriptor = -1;
        index_t offset_bytes = 0;
    };
    std::vector<Marked> marked_;
    void add_marked(Store& store, const std::vector<std::string>& paths);
};

}  // namespace spanfft
