// Staging: the sweeps that bring a chunked array (Problem::input_chunk, output_chunk) into a file and a file into one.
//
// Method: panels of strided columns would decode a chunk once for each panel that touches it. So an array that memory
// does not hold is first copied into a file beside scratch, in boxes of whole chunks; the sweeps work on that file at
// its full speed; and what they leave in another one is copied out in boxes of whole chunks. A box takes a third of the
// memory that the panels of the sweeps have (a half, if a chunk is larger than a third): one is read while another is
// written. What memory holds at once needs no file: it is read in planes of whole chunks to where it is transformed.
// A sweep into a file is journalled as others are: it goes on with the first box that is not on the disk. One
// out of a file is not: the array that a killed run leaves half written is another library's, made anew by the next
// run, so that all boxes are written again; what they are made of is kept until whoever has the array says that it is
// whole.
// Several ranks share the boxes out, in one file that all see, which is beside the output. They read planes of no
// array: a plane that two ranks have parts of would be decoded twice, and a chunk written by both.
// Invariant: each chunk is read once and written once, by one rank; predicted requests equal counted ones.
#pragma once

#include "disk/array_store.hpp"
#include "plan/plan.hpp"

namespace spanfft {

struct Machine;

// Of the budget, what the caller's functions may take beside what they are given: two chunks, such as a decoded and an
// encoded one. 0: the problem has no chunked array.
index_t callback_bytes(const Problem& problem);
std::string chunks_too_large(const Problem& problem);

// Planes of whole chunks, about a request's bytes of them; empty where `chunk` is.
Extents planes_box(const Extents& shape, const Extents& chunk, const ElemType& elem);

// Adds the sweeps to a plan whose problem has chunks, unless it reads (or writes) planes; Code::out_of_memory where two
// chunks do not fit the problem's memory beside the plan on some rank.
Status stage_chunks(Plan& plan, const Machine& machine);

}  // namespace spanfft
