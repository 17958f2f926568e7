// Prints how spanfft factors BMMC permutations, for bench/figures/draw.py.
//
// Arguments: n m b d, then kinds as spanfft permute names them. One line of JSON for each kind: its matrix, the rank of
// phi, and the factors in the order in which they are done, each as rows of 0 and 1, lowest bits first.
// Compiled by draw.py from src/permute itself, so what is drawn is what runs.
#include "permute/factor.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace spanfft;

static std::string rows(const BitMatrix& matrix) {
    std::string text = "[";
    for (int i = 0; i < matrix.size(); ++i) {
        text += i ? ", \"" : "\"";
        for (int j = 0; j < matrix.size(); ++j) text += matrix.at(i, j) ? '1' : '0';
        text += '"';
    }
    return text + "]";
}

int main(int argc, char** argv) {
    if (argc < 6) {
        std::fprintf(stderr, "usage: factors n m b d KIND...\n");
        return 2;
    }
    const PdmShape shape{std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4])};
    for (int i = 5; i < argc; ++i) {
        const auto named = BitMatrix::named(argv[i], shape.n);
        if (!named.ok()) {
            std::fprintf(stderr, "%s\n", named.status().message().c_str());
            return 1;
        }
        const BitMatrix& matrix = named.value();
        const auto factors = factor(Bmmc{matrix}, shape);
        if (!factors.ok()) {
            std::fprintf(stderr, "%s\n", factors.status().message().c_str());
            return 1;
        }
        std::printf("{\"kind\": \"%s\", \"matrix\": %s, \"rank_phi\": %d, \"factors\": [", argv[i],
                    rows(matrix).c_str(), rank_phi(matrix, shape));
        for (std::size_t j = 0; j < factors.value().size(); ++j)
            std::printf("%s{\"sweep\": \"%s\", \"rank_phi\": %d, \"matrix\": %s}", j ? ", " : "",
                        sweep_kind_name(factors.value()[j].kind), rank_phi(factors.value()[j].map.matrix, shape),
                        rows(factors.value()[j].map.matrix).c_str());
        std::printf("]}\n");
    }
    return 0;
}
