// Named matrices from text; see BitMatrix::named.
#include <charconv>
#include <vector>

#include "core/nearest.hpp"
#include "permute/bit_matrix.hpp"

namespace spanfft {

namespace {

constexpr const char* kKnown =
    "identity, bit-reversal, bit-reversal:K, rotation:K, transpose:RxC, band:P,STRIPE,FROM,TO, random:SEED";

// "8x4" or "2,16,32,16" -> whole numbers; empty: not as many.
std::vector<index_t> numbers(const std::string& text, char separator, size_t count) {
    std::vector<index_t> found;
    const char *at = text.data(), *const end = at + text.size();
    while (found.size() < count) {
        index_t value = 0;
        const auto [next, failed] = std::from_chars(at, end, value);
        if (failed != std::errc()) return {};
        found.push_back(value);
        at = next;
        if (found.size() == count) return at == end ? found : std::vector<index_t>();
        if (at == end || *at++ != separator) return {};
    }
    return {};
}

// lg of a power of two; -1: it is none.
int exact_log2(index_t value) {
    return value > 0 && (value & (value - 1)) == 0 ? 63 - __builtin_clzll(static_cast<Word>(value)) : -1;
}

Result<BitMatrix> transposed(const std::string& kind, const std::string& sizes, int n) {
    const auto shape = numbers(sizes, 'x', 2);
    if (shape.empty()) return error(Code::invalid_argument, "kind '", kind, "' is not transpose:ROWSxCOLUMNS");
    const int rows = exact_log2(shape[0]), columns = exact_log2(shape[1]);
    if (rows < 0 || columns < 0)
        return error(Code::invalid_argument, "transpose:", sizes, ": ", rows < 0 ? shape[0] : shape[1],
                     " is no power of two, which rows and columns of a bit permutation must be");
    if (rows + columns != n)
        return error(Code::invalid_argument, "transpose:", sizes, " has 2^", rows + columns,
                     " records, but there are 2^", n);
    return BitMatrix::transposition(rows, columns);
}

Result<BitMatrix> banded(const std::string& kind, const std::string& sizes, int n) {
    const auto values = numbers(sizes, ',', 4);
    if (values.empty()) return error(Code::invalid_argument, "kind '", kind, "' is not band:P,STRIPE,FROM,TO");
    int logs[4];
    for (size_t i = 0; i < 4; ++i) {
        logs[i] = exact_log2(values[i]);
        if (logs[i] < 0) return error(Code::invalid_argument, kind, ": ", values[i], " is no power of two");
        if (logs[i] < logs[0] || logs[i] > n)
            return error(Code::invalid_argument, kind, ": ", values[i], " is not between the ", values[0],
                         " processors and the 2^", n, " records");
    }
    return BitMatrix::band_conversion(n, logs[0], logs[1], logs[2], logs[3]);
}

}  // namespace

Result<BitMatrix> BitMatrix::named(const std::string& kind, int n) {
    const size_t colon = kind.find(':');
    const std::string name = kind.substr(0, colon), rest = colon == std::string::npos ? "" : kind.substr(colon + 1);
    if (kind == "identity") return identity(n);
    if (kind == "bit-reversal") return bit_reversal(n);
    if (name == "transpose") return transposed(kind, rest, n);
    if (name == "band") return banded(kind, rest, n);
    const auto one = numbers(rest, ',', 1);
    if (one.empty() || (name != "bit-reversal" && name != "rotation" && name != "random"))
        return error(Code::invalid_argument, "kind '", kind, "' is not known; use one of ", kKnown,
                     did_you_mean(kind, kKnown));
    if (name == "random") {
        Word state = static_cast<Word>(one[0]);  // splitmix64
        return random_nonsingular(n, [&state] {
            Word z = state += 0x9e3779b97f4a7c15ULL;
            z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
            z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
            return z ^ z >> 31;
        });
    }
    if (one[0] < 0 || one[0] > n)
        return error(Code::invalid_argument, kind, ": ", one[0], " is not between 0 and the ", n, " bits of an index");
    const int k = static_cast<int>(one[0]);
    return name == "rotation" ? right_rotation(n, k) : bit_reversal(n, k);
}

}  // namespace spanfft
