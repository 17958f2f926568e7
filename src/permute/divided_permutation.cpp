// Senders and receivers by elimination; see divided_permutation.hpp.
#include "permute/divided_permutation.hpp"

#include <cassert>

namespace spanfft {

DividedPermutation::DividedPermutation(const BitMatrix& map, int first, int p, index_t record_bytes)
    : map_(map), first_(first), p_(p), own_bits_(map.size() - p) {
    const auto image = [&](Word processor, Word own) { return map_.apply(place_of(processor, own)); };
    for (int j = 0; j < own_bits_; ++j) {
        const Word receiver = processor_of(image(0, Word{1} << j));
        if (solver_.add(receiver)) images_.push_back(receiver);
    }
    lg_messages_ = static_cast<int>(images_.size());
    for (int i = 0; i < p; ++i) {
        Word sender = Word{1} << i;
        if (solver_.add(processor_of(image(sender, 0)), sender)) continue;
        free_bits_.push_back(i);
        free_senders_.push_back(sender);
    }
    assert(std::ssize(free_bits_) == lg_messages_);  // as the map is not singular

    // Rows of A that are independent, below them rows of the identity: what is packed, as a matrix.
    const int q = own_bits_ - lg_messages_;
    BitMatrix packing(own_bits_);
    BitSpan rows;
    int row = q;
    for (int i = 0; i < p; ++i) {
        Word of_receiver = 0;
        for (int j = 0; j < own_bits_; ++j) of_receiver |= (processor_of(image(0, Word{1} << j)) >> i & 1) << j;
        if (!rows.add(of_receiver)) continue;
        message_bits_.push_back(i);
        for (int j = 0; j < own_bits_; ++j) packing.set(row, j, (of_receiver >> j & 1) != 0);
        ++row;
    }
    row = 0;
    for (int j = 0; j < own_bits_; ++j) {
        if (rows.add(Word{1} << j)) packing.set(row++, j, true);
    }
    packing_inverse_ = *packing.inverse();

    BitMatrix unpacking(own_bits_);
    for (int i = 0; i < q; ++i) unpacking.set_column(i, own_of(image(0, packing_inverse_.column(i))));
    for (int i = 0; i < lg_messages_; ++i) {
        const Word sender = free_senders_[static_cast<size_t>(i)];
        const Word message = message_of(processor_of(image(sender, 0)));
        unpacking.set_column(q + i, own_of(image(sender, packing_inverse_.apply(message << q))));
    }
    permutations_.emplace_back(packing, record_bytes);
    permutations_.emplace_back(unpacking, record_bytes);
}

Word DividedPermutation::message_of(Word receiver) const {
    Word message = 0;
    for (size_t i = 0; i < message_bits_.size(); ++i) message |= (receiver >> message_bits_[i] & 1) << i;
    return message;
}

Word DividedPermutation::sender_to(Word receiver, Word base) const {
    Word sender = 0;
    const Word left = solver_.reduce(receiver ^ processor_of(base), sender);
    assert(left == 0);
    (void)left;
    return sender;
}

// A class is named by who sends to processor 0.
Word DividedPermutation::in_class(Word exchange_class) const {
    return processor_of(map_.apply(place_of(exchange_class, 0)));
}

std::vector<DividedPermutation::Part> DividedPermutation::sent_by(Word processor, Word exchange_class) const {
    const Word first = processor_of(map_.apply(place_of(processor, 0))) ^ in_class(exchange_class);
    std::vector<Part> parts;
    for (Word u = 0; u < Word{1} << lg_messages_; ++u) {
        Word receiver = first;
        for (int i = 0; i < lg_messages_; ++i) receiver ^= (u >> i & 1) != 0 ? images_[static_cast<size_t>(i)] : 0;
        parts.push_back({receiver, static_cast<index_t>(message_of(receiver))});
    }
    return parts;
}

std::vector<DividedPermutation::Part> DividedPermutation::received_by(Word processor, Word exchange_class) const {
    const Word first = sender_to(processor, place_of(in_class(exchange_class), 0));
    std::vector<Part> parts;
    for (Word v = 0; v < Word{1} << lg_messages_; ++v) {
        Word sender = first;
        for (int i = 0; i < lg_messages_; ++i) sender ^= (v >> i & 1) != 0 ? free_senders_[static_cast<size_t>(i)] : 0;
        parts.push_back({sender, static_cast<index_t>(v)});
    }
    return parts;
}

index_t DividedPermutation::pack(Word processor, Word base, const char* in, char* packed, ThreadTeam& team) const {
    const Word first = processor_of(map_.apply(place_of(processor, 0)) ^ base);
    return permutations_[0].scatter(message_of(first) << (own_bits_ - lg_messages_), in, packed, team);
}

index_t DividedPermutation::unpack(Word processor, Word base, const char* received, char* out, ThreadTeam& team) const {
    // The place of record 0 of the first segment.
    const Word sender = sender_to(processor, base);
    const Word message = message_of(processor ^ processor_of(base) ^ processor_of(map_.apply(place_of(sender, 0))));
    const Word own = packing_inverse_.apply(message << (own_bits_ - lg_messages_));
    return permutations_[1].scatter(own_of(map_.apply(place_of(sender, own)) ^ base), received, out, team);
}

}  // namespace spanfft
