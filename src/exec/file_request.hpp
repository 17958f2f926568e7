// FileRequest: what of which files a plan is to transform, and how much is kept of a run that ends before.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "disk/array_store.hpp"
#include "plan/block_work.hpp"
#include "plan/step.hpp"

namespace spanfft {

enum class JournalMode {
    off,        // no names, nothing kept
    automatic,  // goes on with an unfinished run, else begins one
    resume,     // goes on with an unfinished run, else it is an error
    restart,    // throws an unfinished run away
};

struct FileRequest {
    std::string input_path;
    index_t input_offset_bytes = 0;
    std::string output_path;
    std::string header;  // goes before the array in the output
    // Scratch is striped over them; empty: the output's. May differ from rank to rank; {rank} and {node} in them stand
    // for the numbers of this rank and of its node.
    std::vector<std::string> scratch_folders;
    Progress progress;
    // Of a plan whose problem has input_chunk or output_chunk: the array, instead of a file.
    BoxTransfer read_box = {}, write_box = {};
    // With a journal: a text that changes when the input behind read_box does (empty: no journal), and one that says
    // how write_box stores the output, as a file's header does.
    std::string input_identity = {}, output_identity = {};
    // Of write_box: the output is whole, and is to be where it stays before what it is made of goes. May be empty.
    std::function<Status()> finish = {};
    bool packed_input = false, packed_output = false;  // half spectra of n/2 numbers (disk/packed_store.hpp)
    BlockCallbacks callbacks = {};                     // of this rank's blocks; on all ranks or on none
    JournalMode journal = JournalMode::off;
    bool checksums = true;  // of what one sweep hands to the next
    bool in_place = false;  // the output takes the input's place in its file (exec/in_place.hpp); output_path is its
};

}  // namespace spanfft
