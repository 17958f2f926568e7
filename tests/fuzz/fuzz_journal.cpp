// libFuzzer: journals, as text and with the checksums put right, so that damage reaches what stands behind them.
#include "disk/journal.hpp"
#include "fuzz/require.hpp"

namespace {

void parse(const std::string& text) {
    using namespace spanfft;
    index_t whole_bytes = -1;
    const auto lines = parse_journal(text, "a journal", whole_bytes);
    if (!lines.ok()) {
        test::require(!lines.status().message().empty(), "an error without a sentence");
        return;
    }
    test::require(whole_bytes >= 0 && whole_bytes <= static_cast<index_t>(text.size()), "more bytes than there are");
    std::string again;
    for (const std::string& line : lines.value()) again += journal_line(line);
    test::require(again == text.substr(0, static_cast<size_t>(whole_bytes)), "lines that were not in the text");
    for (const char* key : {"run", "problem", "input", "panels"}) (void)journal_value(lines.value(), key);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    parse(text);
    std::string summed;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        summed += spanfft::journal_line(text.substr(begin, end - begin));
        begin = end + 1;
    }
    parse(summed);
    return 0;
}
