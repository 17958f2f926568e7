// The tuning store ("wisdom"): which choice was measured to be fastest, for which problem on which machine.
//
// Method: a text file of one record a line. Merging two stores is a union of records; of two with the same key and
// choice the one with fewer seconds stays. So merging is commutative and idempotent, writers lose nothing of one
// another (each reads, merges and renames under a lock), and only `forget` takes anything away. Lines that this version
// does not understand are kept. Keys: the processor, the MPI library, ranks, nodes, and the problem without what must
// not change the choice (direction, norm, effort, in_place, own_output, own_input): what forward leaves, backward
// takes.
#pragma once

#include <optional>

#include "core/status.hpp"
#include "plan/problem.hpp"

namespace spanfft {

struct TuningKey {
    std::string machine;  // machine_identity()
    std::string library;  // Comm::library(); "" matches any
    int ranks = 1, nodes = 1;
};

struct Tuned {
    TuningKey key;
    std::string problem;  // tuning_twin(...).print()
    Extents grid;
    std::string exchange, engine;  // "": the planner's choice
    int threads = 0;
    double seconds = 0;  // an execution: median of some, of the slowest rank
    std::string date;

    std::string print() const;  // a line, without its end
    static std::optional<Tuned> parse(const std::string& line);
    std::string choice() const;  // "grid=2x2 exchange=alltoallv threads=1"
    // Whether the problem, which may force some of it, leaves room for this choice; and the problem with it.
    bool fits(const Problem& problem) const;
    Problem apply(Problem problem) const;
};

// The problem as a key, and by whose cost grids are chosen: forward, unscaled, out of place, estimated.
Problem tuning_twin(const Problem& problem);

class TuningStore {
  public:
    static TuningStore parse(const std::string& text);
    std::string print() const;
    bool empty() const { return records_.empty(); }
    const std::vector<Tuned>& records() const { return records_; }

    bool add(const Tuned& record);  // false: nothing new
    int merge(const TuningStore& other);
    // The fastest record for the problem as it stands, else one for the problem with nothing forced that fits it.
    const Tuned* find(const TuningKey& key, const Problem& problem) const;
    // Records of a problem ("": of all); how many there were.
    int forget(const std::string& problem);

  private:
    std::vector<Tuned> records_;
    std::vector<std::string> others_;  // lines that were not understood
};

// The user's store. What was gained by this process is remembered even where no file can be written.
std::string tuning_path();  // "": there is no folder for it
Result<TuningStore> read_tuning();
// What this process gained and could not store.
TuningStore gained_here();
Result<int> gain_tuning(const TuningStore& more);  // how many records were new
Result<int> forget_tuning(const std::string& problem);

}  // namespace spanfft
