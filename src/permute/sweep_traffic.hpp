// SweepTraffic: what each processor sends in one sweep of a BMMC, from ranks of matrices alone.
//
// Method: a message is a triple (sender, receiver, load) that has records. The triples are an affine image of places:
// their number is 2 to the rank r of its rows, and each has 2^(n-r) records. Those that stay (receiver + sender = 0)
// are no messages: they are none, or a coset as large as the kernel of receiver + sender. A load is of places that are
// read in order, or, in a collection, of places that are written in order. Source: P1, section 6 (its analysis
// program); the ranks are ours (docs/adr/0076).
#pragma once

#include "permute/factor.hpp"
#include "permute/span.hpp"

namespace spanfft {

struct Traffic {
    index_t messages = 0, bytes = 0;
    Traffic& operator+=(const Traffic& other) {
        messages += other.messages;
        bytes += other.bytes;
        return *this;
    }
    bool operator==(const Traffic&) const = default;
};

class SweepTraffic {
  public:
    SweepTraffic(const Factor& factor, const PdmShape& shape, index_t record_bytes);
    Traffic total() const;  // by all processors
    Traffic sent_by(Word processor) const;

  private:
    int n_ = 0, p_ = 0;
    index_t record_bytes_ = 0;
    int triples_ = 0;  // rank of (sender, receiver, load)
    int moved_ = 0;    // rank of sender + receiver
    bool some_stay_ = true;
    Word stays_ = 0;   // a sender that sends to itself
    BitSpan stayers_;  // what it differs by from the others
};

}  // namespace spanfft
