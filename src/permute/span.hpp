// BitSpan: vectors over GF(2) that were found independent, and what they span.
//
// Method: no two of the kept vectors have the same highest bit, so whatever is in the span is taken to zero by taking
// off, from its highest bit on, the kept vector that has this bit. Beside each vector lies a word of the caller's, such
// as the columns that it is the sum of: the same is taken off those.
// Invariant: nothing here allocates.
#pragma once

#include "permute/bit_matrix.hpp"

namespace spanfft {

class BitSpan {
  public:
    // What is left of `vector` without what is in the span; `beside` follows.
    Word reduce(Word vector, Word& beside) const {
        while (vector != 0) {
            const Kept& kept = kept_[top(vector)];
            if (kept.vector == 0) break;
            vector ^= kept.vector;
            beside ^= kept.beside;
        }
        return vector;
    }
    // Keeps what is left; false if nothing is: `beside` then tells of what the vector was the sum.
    bool add(Word vector, Word& beside) {
        vector = reduce(vector, beside);
        if (vector == 0) return false;
        kept_[top(vector)] = {vector, beside};
        ++size_;
        return true;
    }
    bool add(Word vector) {
        Word nothing = 0;
        return add(vector, nothing);
    }
    bool has(Word vector) const {
        Word nothing = 0;
        return reduce(vector, nothing) == 0;
    }
    int size() const { return size_; }
    // Whether a kept vector has this highest bit.
    bool leads(int bit) const { return kept_[static_cast<size_t>(bit)].vector != 0; }

  private:
    struct Kept {
        Word vector = 0, beside = 0;
    };
    static size_t top(Word vector) { return static_cast<size_t>(63 - __builtin_clzll(vector)); }
    std::array<Kept, 64> kept_{};
    int size_ = 0;
};

}  // namespace spanfft
