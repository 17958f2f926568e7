// Streams for text that programs read again: numbers as in C, whatever locale the user's program has made global.
#pragma once

#include <locale>
#include <sstream>

namespace spanfft {

class TextWriter : public std::ostringstream {
  public:
    TextWriter() { imbue(std::locale::classic()); }
};

class TextReader : public std::istringstream {
  public:
    explicit TextReader(const std::string& text) : std::istringstream(text) { imbue(std::locale::classic()); }
};

}  // namespace spanfft
