// libFuzzer: machine files. What is accepted has figures that can be planned with, and is printed and parsed to the
// same.
#include "fuzz/require.hpp"
#include "plan/machine_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace spanfft;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const Result<Machine> machine = parse_machine(text, Machine{});
    if (!machine.ok()) {
        test::require(!machine.status().message().empty(), "an error without a sentence");
        return 0;
    }
    const std::string printed = print_machine(machine.value());
    const Result<Machine> again = parse_machine(printed, Machine{});
    test::require(again.ok(), "what was printed is not accepted");
    test::require(print_machine(again.value()) == printed, "what was printed is parsed to something else");
    return 0;
}
