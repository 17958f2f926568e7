// Permutations of records, and where their records belong by the definition.
#pragma once

#include <string>

#include "solvers/permutation.hpp"

namespace spanfft::test {

// Of 2^bits records, by a named matrix; one thread, one disk.
PermutationRequest permutation_of(const char* kind, int bits, index_t record_bytes, index_t memory_bytes);

// So many records of bytes of a seed.
std::string random_records(const PermutationRequest& request, unsigned seed);

// By the definition: bit i of a place is the parity of what row i of the matrix picks of the index.
std::string permuted(const std::string& records, const PermutationRequest& request);

}  // namespace spanfft::test
