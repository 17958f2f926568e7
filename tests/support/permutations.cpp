// Requests, records and the definition; see permutations.hpp.
#include "support/permutations.hpp"

#include <random>

namespace spanfft::test {

PermutationRequest permutation_of(const char* kind, int bits, index_t record_bytes, index_t memory_bytes) {
    PermutationRequest request;
    request.map.matrix = BitMatrix::named(kind, bits).value();
    request.record_bytes = record_bytes;
    request.memory_bytes = memory_bytes;
    request.threads = 1;
    return request;
}

std::string random_records(const PermutationRequest& request, unsigned seed) {
    std::mt19937_64 random(seed);
    std::string records(static_cast<size_t>(request.record_bytes) << request.map.matrix.size(), '\0');
    for (char& byte : records) byte = static_cast<char>(random());
    return records;
}

std::string permuted(const std::string& records, const PermutationRequest& request) {
    const auto [matrix, complement] = request.map;
    const auto record_bytes = static_cast<size_t>(request.record_bytes);
    std::string result = records;
    for (size_t x = 0; x < records.size() / record_bytes; ++x) {
        size_t z = complement;
        for (int i = 0; i < matrix.size(); ++i) {
            for (int j = 0; j < matrix.size(); ++j) z ^= size_t{matrix.at(i, j) && (x >> j & 1) != 0} << i;
        }
        result.replace(z * record_bytes, record_bytes, records, x * record_bytes, record_bytes);
    }
    return result;
}

}  // namespace spanfft::test
