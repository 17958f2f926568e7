// What engines learnt by measuring plans (FFTW's wisdom), as lines of a file; kept_wisdom.hpp says who reads and writes
// it.
//
// Method: a library's text is taken apart into its entries, one a line of the file, each with the library, its version,
// the processor, the precision and a checksum. Merging two stores is a union of lines, so neither writers (each reads,
// merges and renames under a lock) nor the library, which may export less than it took in, lose anything. Of two
// entries for the same part of a transform the one that was there first stays.
// Invariant: a library is given lines of its own version and processor only, and of those only lines whose checksum is
// right. The rest stays in the file, but for damaged lines; a file of another format is left alone.
// Source: the text is that of FFTW 3.3, "Wisdom String Export/Import": a head that names the library's configuration,
// then entries of a solver's name, its number, and seven words: flags and the signature of the problem.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace spanfft {

constexpr const char* kWisdomHeader = "spanfft-wisdom 1";

// Whose an entry is.
struct WisdomSource {
    std::string engine, version, machine, precision;
};

class WisdomStore {
  public:
    static WisdomStore parse(const std::string& text);
    std::string print() const;

    // The entries of a library's text; how many were new. A text of another form adds none.
    int add(const WisdomSource& source, const std::string& library_text);
    int merge(const WisdomStore& other);
    // The lines of one library at one precision, as the texts that it takes in: one for each of its configurations.
    std::vector<std::string> texts_of(const WisdomSource& source) const;

    bool foreign() const { return foreign_; }  // no file of this format: nothing was read
    int damaged() const { return damaged_; }   // lines that were left out
    int entries() const { return static_cast<int>(lines_.size()); }

  private:
    int add_line(const std::string& line);

    std::vector<std::string> lines_;  // without checksums
    std::set<std::string> keys_;      // of them
    bool foreign_ = false;
    int damaged_ = 0;
};

}  // namespace spanfft
