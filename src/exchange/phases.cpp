// Schedules of all-to-alls; see phases.hpp.
#include "exchange/phases.hpp"

#include <algorithm>
#include <cassert>

namespace spanfft {

namespace {

using Offsets = std::vector<Extents>;

Extents at_index(const Extents& torus, index_t index) {
    Extents coords(torus.size());
    for (size_t dim = torus.size(); dim-- > 0; index /= torus[dim]) coords[dim] = index % torus[dim];
    return coords;
}

index_t index_of(const Extents& torus, const Extents& coords) {
    index_t index = 0;
    for (size_t dim = 0; dim < torus.size(); ++dim) index = index * torus[dim] + coords[dim];
    return index;
}

// sign * o + half * h, in each dimension modulo its extent.
Extents moved(const Extents& torus, const Extents& offset, int sign, bool half) {
    Extents result(torus.size());
    for (size_t dim = 0; dim < torus.size(); ++dim) {
        const index_t p = torus[dim];
        result[dim] = (sign * offset[dim] + (half ? p / 2 : 0) + p) % p;
    }
    return result;
}

// The different ones of o, -o, h-o, o-h (which is o+h).
Offsets together(const Extents& torus, const Extents& offset) {
    Offsets all;
    for (const bool half : {false, true}) {
        for (const int sign : {1, -1}) {
            Extents next = moved(torus, offset, sign, half);
            if (std::find(all.begin(), all.end(), next) == all.end()) all.push_back(std::move(next));
        }
    }
    return all;
}

}  // namespace

std::vector<Offsets> torus_phases(const Extents& torus) {
    assert(std::all_of(torus.begin(), torus.end(), [](index_t p) { return p > 0 && p % 2 == 0; }));
    std::vector<Offsets> phases, halves;
    std::vector<bool> seen(static_cast<size_t>(product(torus)), false);
    for (index_t i = 0; i < product(torus); ++i) {
        if (seen[static_cast<size_t>(i)]) continue;
        Offsets phase = together(torus, at_index(torus, i));
        for (const Extents& offset : phase) seen[static_cast<size_t>(index_of(torus, offset))] = true;
        const bool is_half = phase.size() < 4;
        std::erase(phase, Extents(torus.size(), 0));  // the rank itself
        (is_half ? halves : phases).push_back(std::move(phase));
    }
    for (size_t i = 0; i < halves.size(); i += 2) {
        if (i + 1 < halves.size()) halves[i].insert(halves[i].end(), halves[i + 1].begin(), halves[i + 1].end());
        phases.push_back(std::move(halves[i]));
    }
    return phases;
}

std::vector<Partners> torus_partners(const Extents& torus, int place) {
    const Extents here = at_index(torus, place);
    std::vector<Partners> all;
    for (const Offsets& phase : torus_phases(torus)) {
        Partners partners;
        for (const Extents& offset : phase) {
            Extents there(torus.size());
            for (size_t dim = 0; dim < torus.size(); ++dim) there[dim] = (here[dim] + offset[dim]) % torus[dim];
            partners.push_back(static_cast<int>(index_of(torus, there)));
        }
        all.push_back(std::move(partners));
    }
    return all;
}

std::vector<Partners> pairwise_partners(int size, int place) {
    std::vector<Partners> all;
    for (int round = 0; round < size; ++round) {
        const int peer = (round - place + size) % size;
        all.push_back(peer == place ? Partners{} : Partners{peer});
    }
    return all;
}

}  // namespace spanfft
