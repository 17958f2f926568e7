// Checksums of what goes to disk and of journal lines: XXH3, 64 bits, from the header of the xxHash library.
//
// Against faults, not against an enemy: a flipped bit, a lost or a misplaced write goes unnoticed once in 2^64.
#pragma once

#include <cstdint>
#include <string>

#include "core/extents.hpp"

namespace spanfft {

uint64_t checksum(const void* data, index_t bytes);
// Of data that lies at a place: the same bytes elsewhere have another one. Sums (modulo 2^64) of these are checksums
// of sets of pieces, whatever their order.
uint64_t placed_checksum(const void* data, index_t bytes, index_t place);

std::string hex_of(uint64_t value);                        // 16 digits
bool parse_hex(const std::string& text, uint64_t& value);  // exactly 16 digits

}  // namespace spanfft
