// Work in place on disk: a transform whose output takes the place of its input, in the same file.
//
// Method: sweeps up to the last read the input and write to scratch (or to a copy beside it), and only when all of that
// is on the disk does the last one write over the input; where one sweep does it all, the whole output is copied over
// the input in the end. Either way a run that is stopped while the input is half overwritten can go on from its journal
// alone. The journal lies beside the file, under a name that the file's alone gives, so that whoever opens the file
// next can look whether it is half overwritten; and the file itself has a mark meanwhile (file_identity.hpp), by which
// it is known under other names. Of several ranks, rank 0 has that journal and marks the file; each other has one in
// scratch of its own, as in other runs. All agree before the last sweep that what they have of the one before is on the
// disk, so a rank whose journal does not say so proves that nobody has begun to overwrite.
// Invariant: nothing is written to the input before the journals say that all it becomes is on the disk.
#pragma once

#include <string>
#include <vector>

#include "disk/journal.hpp"
#include "disk/output_file.hpp"
#include "exec/file_identity.hpp"
#include "plan/plan.hpp"

namespace spanfft {

// What of the input is left, by the lines of a journal.
enum class InPlaceState {
    untouched,    // all
    overwriting,  // nobody knows
    finished,     // nothing: the output is whole, and only the run's files are in the way
};
InPlaceState in_place_state(const std::vector<std::string>& lines);
// Of a plan whose last sweep overwrites: its line, which says from which panels on.
std::string overwrites_line(int sweep, index_t panels);

// Whether the plan's output can take the place of its input: with a journal, of the same shape and type.
Status check_in_place(const Plan& plan, bool journal);

std::string in_place_journal(const std::string& path);

// The journal's line that says which bytes of the file are overwritten.
std::string in_place_line(index_t offset_bytes, index_t bytes);

// An error where an unfinished run has half overwritten this file, or one that it may be a copy of.
Status check_not_half_overwritten(const std::string& path);

// Whether it is the run of these lines that overwrites the file: by its inode, or by a mark that names the journal in
// its place (of a file that went to another file system and back).
bool is_overwritten_by(const std::string& path, const std::vector<std::string>& lines);

// The same before a transform in place begins or goes on with what `lines` of the file's journal say: an error unless
// it is their run that has half overwritten the file.
Status check_whose_overwriting(const std::string& path, const std::vector<std::string>& lines);

struct CopyPlace {
    Store* store = nullptr;
    index_t offset_bytes = 0;  // of both, as far past a multiple of kDirectBytes
};
// Copies and flushes; `memory` is aligned. False of context.advance() stops it.
Status copy_over(const CopyPlace& from, const CopyPlace& to, index_t bytes, char* memory, index_t memory_bytes,
                 RunContext& context);

}  // namespace spanfft
