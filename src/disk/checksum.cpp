// XXH3 of bytes, and bytes with their place; see checksum.hpp.
#include "disk/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spanfft {

uint64_t checksum(const void* data, index_t bytes) { return XXH3_64bits(data, static_cast<size_t>(bytes)); }

// The place is mixed in behind the hash of the bytes: XXH3's own seed would cost 192 bytes of secret for each piece.
uint64_t placed_checksum(const void* data, index_t bytes, index_t place) {
    uint64_t h = checksum(data, bytes) ^ (static_cast<uint64_t>(place) * 0x9E3779B97F4A7C15ULL);
    h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93ULL;
    h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93ULL;
    return h ^ (h >> 32);
}

std::string hex_of(uint64_t value) {
    static const char digits[] = "0123456789abcdef";
    std::string text(16, '0');
    for (size_t i = 16; i-- > 0; value >>= 4) text[i] = digits[value & 15];
    return text;
}

bool parse_hex(const std::string& text, uint64_t& value) {
    if (text.size() != 16) return false;
    value = 0;
    for (const char c : text) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return false;
        value = value << 4 | static_cast<uint64_t>(digit);
    }
    return true;
}

}  // namespace spanfft
