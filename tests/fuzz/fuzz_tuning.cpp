// libFuzzer: tuning stores. Any text is one; printing and parsing it keeps every record, and merging it with itself
// adds nothing.
#include "fuzz/require.hpp"
#include "plan/tuning_store.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace spanfft;
    const std::string text(reinterpret_cast<const char*>(data), size);
    TuningStore store = TuningStore::parse(text);
    const std::string printed = store.print();
    TuningStore again = TuningStore::parse(printed);
    test::require(again.records().size() == store.records().size(), "printing loses or invents records");
    test::require(again.print() == printed, "what was printed is parsed to something else");
    test::require(again.merge(store) == 0, "merging a store with itself adds records");
    const Result<Problem> problem = Problem::parse("c2c 8x8");
    if (const Tuned* found = store.find(TuningKey{}, problem.value())) (void)found->apply(problem.value()).print();
    for (const Tuned& record : store.records()) {
        const Result<Problem> its = Problem::parse(record.problem);
        if (its.ok() && record.fits(its.value())) (void)record.apply(its.value()).print();
    }
    return 0;
}
