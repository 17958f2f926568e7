// Coset by coset; see memory_permutation.hpp.
#include "permute/memory_permutation.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "permute/span.hpp"

namespace spanfft {

namespace {
constexpr index_t kLineBytes = 128;  // two lines, which processors fetch together
constexpr index_t kCosetsAtOnce = 256;
}  // namespace

MemoryPermutation::MemoryPermutation(const BitMatrix& p, index_t record_bytes) : p_(p), record_bytes_(record_bytes) {
    const int m = p.size();
    int line = 0;
    while (line < m && (record_bytes << (line + 1)) <= kLineBytes) ++line;
    const BitMatrix inverse = *p.inverse();
    BitSpan span;
    std::vector<Word> basis;
    const auto add = [&](Word vector) {
        if (span.add(vector)) basis.push_back(vector);
    };
    for (int i = 0; i < line; ++i) add(Word{1} << i);
    for (int i = 0; i < line; ++i) add(inverse.column(i));
    for (int i = 0; i < m; ++i) {
        if (!span.leads(i)) free_bits_.push_back(i);
    }
    coset_.push_back({0, 0});
    for (const Word vector : basis) {
        const size_t size = coset_.size();
        for (size_t k = 0; k < size; ++k)
            coset_.push_back({coset_[k].index ^ vector, coset_[k].place ^ p_.apply(vector)});
    }
}

template <class Copy>
index_t MemoryPermutation::cosets(Word base, index_t begin, index_t end, const Copy& copy) const {
    index_t records = 0;
    for (index_t number = begin; number < end; ++number) {
        Word index = 0;
        for (size_t k = 0; k < free_bits_.size(); ++k) index |= (static_cast<Word>(number) >> k & 1) << free_bits_[k];
        const Word place = p_.apply(index) ^ base;
        for (const Pair& pair : coset_) copy(index ^ pair.index, place ^ pair.place);
        records += std::ssize(coset_);
    }
    return records;
}

index_t MemoryPermutation::scatter(Word base, const char* in, char* out, ThreadTeam& team) const {
    const index_t count = index_t{1} << free_bits_.size();
    std::atomic<index_t> next{0}, copied{0};
    const auto typed = [&]<class Record>(Record*) {
        const auto* from = reinterpret_cast<const Record*>(in);
        auto* to = reinterpret_cast<Record*>(out);
        return [from, to](Word source, Word target) { to[target] = from[source]; };
    };
    const std::function<void(int)> job = [&](int) {
        index_t records = 0;
        for (index_t i = next.fetch_add(kCosetsAtOnce); i < count; i = next.fetch_add(kCosetsAtOnce)) {
            const index_t end = std::min(i + kCosetsAtOnce, count);
            struct Sixteen {
                std::uint64_t words[2];
            };
            switch (record_bytes_) {
                case 4:
                    records += cosets(base, i, end, typed(static_cast<std::uint32_t*>(nullptr)));
                    break;
                case 8:
                    records += cosets(base, i, end, typed(static_cast<std::uint64_t*>(nullptr)));
                    break;
                case 16:
                    records += cosets(base, i, end, typed(static_cast<Sixteen*>(nullptr)));
                    break;
                default:
                    records += cosets(base, i, end, [&](Word source, Word target) {
                        std::memcpy(out + static_cast<index_t>(target) * record_bytes_,
                                    in + static_cast<index_t>(source) * record_bytes_,
                                    static_cast<size_t>(record_bytes_));
                    });
            }
        }
        copied.fetch_add(records, std::memory_order_relaxed);
    };
    team.run(job);
    return 2 * copied.load() * record_bytes_;
}

}  // namespace spanfft
