// FNV-1a over bytes: what texts (problems, plans, machines) are compared and filed by. Not a defence against an enemy:
// 64 bits, so that two different texts meet by chance once in 2^64.
#pragma once

#include <cstdint>
#include <string>

namespace spanfft {

inline uint64_t hash_text(const std::string& text) {
    uint64_t h = 14695981039346656037ULL;
    for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return h;
}

}  // namespace spanfft
