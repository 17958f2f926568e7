// DividedPermutation: a linear permutation of one memoryload of which each of P processors holds a part: what it sends
// to whom, and where it puts what it gets.
//
// Method: place y of the memoryload goes to z = Hy + base. The processor s of y and the processor r of z are p bits of
// them; the rest of y, which is where a record lies in its processor's memory, is j. So r = A j + S s + base, and a
// processor sends to 2^a others or itself, a the rank of A: as many records to each. a rows of A that are independent
// tell which of them it is; q = m-p-a bits of j that complete these rows to a nonsingular matrix tell the record in the
// message. So a processor *packs* by a linear permutation, one message after the other. On the other side r fixes s
// but for the kernel of S modulo the image of A, whose dimension is a too: the sender's number in it and the place in
// the message make the target's place by a linear map: the processor *unpacks* by another permutation.
// Loads whose base differs by an image of A alone are exchanged alike: the exchange's class.
// Worked: m = 3, p = 1, the processor is bit 2; H swaps bits 0 and 2. A = (1 0), a = 1: each sends its odd records, or
// its even ones, to the other. Packing brings them together; unpacking puts the other's records between its own.
// Invariant: one processor's base costs O(p) to look up; nothing is allocated after construction but by the lists.
// Source: ours; P1 (section 6) leaves open how its BMMC subroutine sends.
#pragma once

#include <vector>

#include "permute/memory_permutation.hpp"
#include "permute/span.hpp"

namespace spanfft {

class DividedPermutation {
  public:
    // map: m x m, not singular. The processor of a place is its p bits from `first` on.
    DividedPermutation(const BitMatrix& map, int first, int p, index_t record_bytes);

    // What a processor sends of a load to one other, or keeps for itself: as much, whatever the load.
    index_t message_records() const { return index_t{1} << (own_bits_ - lg_messages_); }
    Word exchange_class(Word base) const { return sender_to(0, base); }
    // Part `segment` of what is packed (or received) goes to (or comes from) a processor; itself among them.
    struct Part {
        Word processor = 0;
        index_t segment = 0;
    };
    std::vector<Part> sent_by(Word processor, Word exchange_class) const;
    std::vector<Part> received_by(Word processor, Word exchange_class) const;
    // Both return the bytes that they read and wrote. Where nothing is sent, unpacking what was read is all.
    index_t pack(Word processor, Word base, const char* in, char* packed, ThreadTeam& team) const;
    index_t unpack(Word processor, Word base, const char* received, char* out, ThreadTeam& team) const;

  private:
    Word processor_of(Word place) const { return place >> first_ & low_bits(p_); }
    Word own_of(Word place) const { return (place & low_bits(first_)) | place >> (first_ + p_) << first_; }
    Word place_of(Word processor, Word own) const {
        return (own & low_bits(first_)) | processor << first_ | own >> first_ << (first_ + p_);
    }
    Word message_of(Word receiver) const;            // the bits of its number that tell it from the others
    Word sender_to(Word receiver, Word base) const;  // the one whose number has none of the free bits
    Word in_class(Word exchange_class) const;        // a base's processor bits

    BitMatrix map_;
    int first_ = 0, p_ = 0, own_bits_ = 0, lg_messages_ = 0;
    BitSpan solver_;                  // columns of A, then of S with the sender beside
    std::vector<Word> images_;        // a basis of A's image
    std::vector<int> message_bits_;   // of a receiver's number
    std::vector<int> free_bits_;      // of a sender's number
    std::vector<Word> free_senders_;  // of each of these bits: senders that differ by it send to the same
    BitMatrix packing_inverse_;
    std::vector<MemoryPermutation> permutations_;  // packing, unpacking
};

}  // namespace spanfft
