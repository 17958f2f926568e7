// libFuzzer: problem strings. What is accepted is printed and parsed to the same problem; nothing is planned here.
#include "fuzz/require.hpp"
#include "plan/problem.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace spanfft;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const Result<Problem> problem = Problem::parse(text);
    if (!problem.ok()) {
        test::require(!problem.status().message().empty(), "an error without a sentence");
        return 0;
    }
    const std::string printed = problem.value().print();
    const Result<Problem> again = Problem::parse(printed);
    test::require(again.ok(), "what was printed is not accepted");
    test::require(again.value().print() == printed, "what was printed is parsed to something else");
    return 0;
}
