// BMMC permutations of records on parallel disks: a few sweeps, each of which a factor says.
//
// Method: in the sweep of a dispersal X, memoryload l is read in stripes. Its record i belongs at z = X(lM + i), in
// block z div B. The M/B blocks of a memoryload are numbered by m-b rows of z from row b on which are independent on
// these records, the disk rows b..b+d-1 first; number and offset in the block are where the record goes in memory: a
// linear map of i. So memory holds whole blocks, D neighbouring ones on D disks, and they are written. A collection
// is the dispersal X^-1 run backwards: blocks are read, put in order, and written in stripes.
// Several processors do a sweep together: each reads its own disks' blocks of a memoryload, packs them for the others
// (divided_permutation.hpp), exchanges, puts in order what it got, and writes to its own disks. Number and offset in
// memory keep the disk's bits where a place has them, so a record's processor is read off either.
// Predicted: every sweep takes N/(BD) parallel reads and as many writes; which are striped follows from the factor.
// Invariant: predicted == counted; source and target of a sweep are different places.
// Source: P1, section 5, and its [7]; the in-memory order is ours.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "disk/parallel_disks.hpp"
#include "permute/divided_permutation.hpp"
#include "permute/sweep_traffic.hpp"

namespace spanfft {

struct BmmcPlan {
    Bmmc map;
    PdmShape shape;
    std::vector<Factor> factors;
    int rank = 0;       // of phi
    index_t bound = 0;  // parallel I/Os, of P1's [7]; 0: not defined
    PdmCounts predicted() const;
    std::string describe() const;  // "2 sweeps (dispersal, rearrangement), rank phi 5"
};
Result<BmmcPlan> plan_bmmc(const Bmmc& map, const PdmShape& shape);

// Where blocks and records of each memoryload go in one sweep. Allocates nothing.
class SweepMap {
  public:
    SweepMap(const Factor& factor, const PdmShape& shape);
    bool collects() const { return collects_; }
    const BitMatrix& position() const { return position_; }  // m x m
    Word base(index_t load) const { return position_of(outer_.apply(static_cast<Word>(load) << shape_.m)); }
    // The t-th block of memoryload `load`, on the side that is not in order.
    index_t scattered_block(index_t load, index_t t) const;
    PdmCounts predicted() const;
    // What happens in memory: the record that was read to place i goes to memory_map() i + memory_base(load).
    const BitMatrix& memory_map() const { return collects_ ? inverse_ : position_; }
    Word memory_base(index_t load) const { return collects_ ? inverse_.apply(base(load)) : base(load); }
    // Which memoryload reads a block of the source, and which one writes a block of the target.
    index_t load_that_reads(index_t block) const { return load_of(block, collects_); }
    index_t load_that_writes(index_t block) const { return load_of(block, !collects_); }

  private:
    index_t load_of(index_t block, bool scattered) const {
        if (!scattered) return block >> (shape_.m - shape_.b);
        return static_cast<index_t>(back_.apply(static_cast<Word>(block) << shape_.b) >> shape_.m);
    }
    Word position_of(Word z) const;
    PdmShape shape_;
    bool collects_ = false;
    Bmmc outer_;                        // the dispersal: the factor or its inverse
    Bmmc back_;                         // its inverse
    std::array<int, kMaxBits> rows_{};  // bit i of a position is row rows_[i] of z
    BitMatrix position_, inverse_;
};

// A sweep with its tables, as one of shape.p processors runs it: on the disks that are its own, whose blocks are
// counted as if there were no others. Memory: sweep_buffers(false, mode) of its parts of memoryloads.
class BmmcSweep {
  public:
    BmmcSweep(const Factor& factor, const PdmShape& shape, index_t record_bytes, index_t processor = 0)
        : map_(factor, shape),
          shape_(shape),
          processor_(processor),
          record_bytes_(record_bytes),
          sends_(SweepTraffic(factor, shape, record_bytes).total().messages > 0),
          permutation_(map_.memory_map(), shape.processor_bit(), shape.p, record_bytes) {}
    const SweepMap& map() const { return map_; }
    bool sends() const { return sends_; }  // any processor to any other
    // The ways in which loads are exchanged, rising, and what is exchanged then: with the others and, what stays, with
    // itself.
    std::vector<Word> exchange_classes() const;
    std::vector<PairParts> pairs(Word exchange_class) const;
    struct Means : SweepMeans {
        ThreadTeam* team = nullptr;
        index_t* moved_bytes = nullptr;  // of records that were read and written in memory; added to, if given
        // Of a sweep that sends: does what pairs() say of the class, from the one to the other.
        std::function<Status(Word exchange_class, const char* packed, char* received)> exchange = {};
    };
    Status run(ParallelDisks& source, ParallelDisks& target, const Means& means) const;

  private:
    Status permute(index_t load, char* in, char* out, const Means& means) const;

    SweepMap map_;
    PdmShape shape_;
    index_t processor_, record_bytes_;
    bool sends_;
    DividedPermutation permutation_;
};

}  // namespace spanfft
