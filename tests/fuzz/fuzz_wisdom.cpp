// libFuzzer: files of wisdom. Any text is one; printing and parsing it keeps every line, merging it with itself adds
// nothing, and as a library's own text it adds nothing that is not given back.
#include "fuzz/require.hpp"
#include "plan/wisdom_store.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace spanfft;
    const std::string text(reinterpret_cast<const char*>(data), size);
    WisdomStore store = WisdomStore::parse(text);
    const WisdomSource source{"fftw", "3", "amd", "double"};
    test::require(store.add(source, text) == 0 || store.texts_of(source).size() > 0, "what was added is lost");
    const std::string printed = store.print();
    WisdomStore again = WisdomStore::parse(printed);
    test::require(again.damaged() == 0 && again.entries() == store.entries(), "printing loses or invents lines");
    test::require(again.print() == printed, "what was printed is parsed to something else");
    test::require(again.merge(store) == 0, "merging a store with itself adds lines");
    for (const std::string& each : again.texts_of(source)) (void)store.add(source, each);
    test::require(store.print() == printed, "what was given back is taken for something new");
    return 0;
}
