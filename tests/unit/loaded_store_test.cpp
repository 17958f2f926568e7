// Files of other types: type strings, every number of every format, and reads into a run's own memory.
#include "disk/loaded_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "disk/async_io.hpp"
#include "disk/file_store.hpp"
#include "support/random.hpp"
#include "support/simulated_store.hpp"

namespace spanfft {
namespace {

using Kind = NumberFormat::Kind;
using test::MemoryStore;
using test::Random;

const std::vector<std::string> kReal = {"i1",  "i2",  "i4",  "i8",  "u1",  "u2",  "u4",  "u8",  "f2",  "f4",  "f8",
                                        "f16", ">i2", ">i4", ">i8", ">u2", ">u4", ">u8", ">f2", ">f4", ">f8", ">f16"};
const std::vector<std::string> kComplex = {"c8", "c16", "c32", ">c8", ">c16", ">c32"};

std::vector<std::string> all_formats() {
    std::vector<std::string> all = kReal;
    all.insert(all.end(), kComplex.begin(), kComplex.end());
    return all;
}

NumberFormat format_of(const std::string& text) {
    const auto format = NumberFormat::parse(text);
    EXPECT_TRUE(format.ok()) << format.status().message();
    return format.value();
}

TEST(NumberFormat, ParseOfPrintIsTheFormat) {
    for (const std::string& text : all_formats()) {
        const NumberFormat format = format_of(text);
        EXPECT_EQ(format.print(), text);
        EXPECT_EQ(format.complex, text.find('c') != std::string::npos);
        EXPECT_EQ(format.big_endian, text[0] == '>');
        EXPECT_EQ(cat(format.bytes()), text.substr(text[0] == '>' ? 2 : 1));
    }
    EXPECT_EQ(format_of("<i2").print(), "i2");
    EXPECT_EQ(format_of("|u1").print(), "u1");
    EXPECT_EQ(format_of(">u1").print(), "u1");  // a byte has no order
    EXPECT_EQ(format_of("=f4").print(), "f4");
}

TEST(NumberFormat, RefusalsNameWhatIsKnown) {
    for (const std::string text :
         {"",    ">",   "<",  "i",  "i3",  "i02", "i16", "u0", "u-1",  "f1",    "f10",           "f2 ",
          " f2", "f4x", "c4", "c2", "c64", "b1",  "S4",  "M8", ">>f4", "int16", "i999999999999", "f"}) {
        const auto format = NumberFormat::parse(text);
        ASSERT_FALSE(format.ok()) << text;
        EXPECT_EQ(format.status().code(), Code::invalid_argument);
        for (const std::string& word : {cat("load=", text), std::string("i1, i2"), std::string("'>'")})
            EXPECT_NE(format.status().message().find(word), std::string::npos) << format.status().message();
    }
}

TEST(NumberFormat, IsWhatNeedsNoConversion) {
    std::set<std::string> plain;
    for (const std::string& text : all_formats()) {
        for (const bool complex : {false, true}) {
            for (const Precision precision : {Precision::single, Precision::dbl, Precision::extended}) {
                if (format_of(text).is({precision, complex}))
                    plain.insert(cat(text, " ", elem_name({precision, complex})));
            }
        }
    }
    EXPECT_EQ(plain, (std::set<std::string>{"f4 float32", "f8 float64", "f16 longdouble", "c8 complex64",
                                            "c16 complex128", "c32 clongdouble"}));
}

// By the definition of the format, in exact arithmetic.
double half_by_definition(unsigned bits) {
    const int sign = bits >> 15 ? -1 : 1, exponent = static_cast<int>(bits >> 10 & 31);
    const int fraction = static_cast<int>(bits & 1023);
    if (exponent == 31) return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
    return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

TEST(NumberFormat, EveryHalfIsExact) {
    for (const char* const text : {"f2", ">f2"}) {
        for (unsigned bits = 0; bits < 65536; ++bits) {
            unsigned char bytes[2] = {static_cast<unsigned char>(bits & 255), static_cast<unsigned char>(bits >> 8)};
            if (text[0] == '>') std::swap(bytes[0], bytes[1]);
            float single = 0;
            double dbl = 0;
            long double extended = 0;
            format_of(text).convert(bytes, 1, Precision::single, &single);
            format_of(text).convert(bytes, 1, Precision::dbl, &dbl);
            format_of(text).convert(bytes, 1, Precision::extended, &extended);
            const double exact = half_by_definition(bits);
            if (std::isnan(exact)) {
                ASSERT_TRUE(std::isnan(single) && std::isnan(dbl) && std::isnan(extended)) << bits;
                continue;
            }
            ASSERT_EQ(single, exact) << bits;
            ASSERT_EQ(dbl, exact) << bits;
            ASSERT_EQ(extended, exact) << bits;
            ASSERT_EQ(std::signbit(single), bits >> 15 != 0) << bits;
        }
    }
}

// The same number in a file, in this machine's order or turned, and as C converts it.
template <class Number>
std::string bytes_of(Number number, bool turned) {
    std::string bytes(reinterpret_cast<const char*>(&number), sizeof number);
    if (turned) std::reverse(bytes.begin(), bytes.end());
    return bytes;
}

template <class Number, class Real>
void expect_numbers(const std::string& text, Precision precision, const std::vector<Number>& numbers) {
    for (const bool turned : {false, true}) {
        std::string bytes = "?";  // so that nothing is aligned
        for (const Number number : numbers) bytes += bytes_of(number, turned);
        const NumberFormat format = format_of((turned && sizeof(Number) > 1 ? ">" : "") + text);
        std::vector<Real> converted(numbers.size() + 1, Real(-77));
        format.convert(bytes.data() + 1, static_cast<index_t>(numbers.size()), precision, converted.data());
        for (size_t i = 0; i < numbers.size(); ++i) {
            ASSERT_EQ(converted[i], static_cast<Real>(numbers[i])) << format.print() << " " << +numbers[i];
            ASSERT_EQ(std::signbit(converted[i]), std::signbit(static_cast<Real>(numbers[i])));
        }
        ASSERT_EQ(converted.back(), Real(-77));
    }
}

template <class Number>
void expect_precisions(const std::string& text, std::vector<Number> numbers) {
    Random random(73);
    numbers.insert(numbers.end(), {std::numeric_limits<Number>::lowest(), std::numeric_limits<Number>::max(),
                                   std::numeric_limits<Number>::min(), Number(0), Number(1)});
    for (int i = 0; i < 1000; ++i) {
        Number number;
        if constexpr (std::is_integral_v<Number>) {
            const std::uint64_t bits = random.bits() >> random.below(64);
            number = static_cast<Number>(i % 2 ? bits : ~bits);
        } else {
            number = static_cast<Number>(std::ldexp(random.noise(), static_cast<int>(random.below(200)) - 100));
        }
        numbers.push_back(number);
    }
    expect_numbers<Number, float>(text, Precision::single, numbers);
    expect_numbers<Number, double>(text, Precision::dbl, numbers);
    expect_numbers<Number, long double>(text, Precision::extended, numbers);
}

TEST(NumberFormat, EveryNumberIsTheNearestOne) {
    expect_precisions<std::int8_t>("i1", {-128, -1, 127});
    expect_precisions<std::int16_t>("i2", {-32768, -1, 255, 256});
    expect_precisions<std::int32_t>("i4", {-1, (1 << 24) + 1, (1 << 24) + 3, -(1 << 30) - 1});
    expect_precisions<std::int64_t>("i8", {-1, (std::int64_t{1} << 53) + 1, (std::int64_t{1} << 53) + 3});
    expect_precisions<std::uint8_t>("u1", {255, 128});
    expect_precisions<std::uint16_t>("u2", {65535, 32768});
    expect_precisions<std::uint32_t>("u4", {4294967295U, 2147483648U, (1U << 24) + 1});
    expect_precisions<std::uint64_t>("u8", {~std::uint64_t{0}, std::uint64_t{1} << 63, (std::uint64_t{1} << 53) + 1});
    expect_precisions<float>("f4", {-0.0F, HUGE_VALF, -HUGE_VALF, std::numeric_limits<float>::denorm_min()});
    expect_precisions<double>("f8", {-0.0, HUGE_VAL, -HUGE_VAL, std::numeric_limits<double>::denorm_min(), 0.1});
    expect_precisions<long double>("f16", {-0.0L, HUGE_VALL, 0.1L, 1 + 0x1p-60L});
}

TEST(NumberFormat, IntegersBeyondTheComputedTypeRoundToEven) {
    const std::int64_t numbers[] = {(std::int64_t{1} << 53) + 1, (std::int64_t{1} << 53) + 3};
    double converted[2];
    format_of("i8").convert(numbers, 2, Precision::dbl, converted);
    EXPECT_EQ(converted[0], 0x1p53);
    EXPECT_EQ(converted[1], 0x1p53 + 4);
}

// Of a file of pseudorandom elements that are small whole numbers, which every format has.
struct Sample {
    NumberFormat format;
    ElemType computed;
    index_t elems = 0;
    index_t offset = 0;  // of the array in the file

    index_t reals() const { return elems * (format.complex ? 2 : 1); }
    static int number(index_t i, const NumberFormat& format) {
        const int value = static_cast<int>((i * 2654435761LL >> 7) % 127);
        return format.kind != Kind::unsigned_whole && i % 3 == 0 ? -value : value;
    }
    std::string file() const {
        std::string bytes(static_cast<size_t>(offset), '#');
        for (index_t i = 0; i < reals(); ++i) {
            const int value = number(i, format);
            const auto put = [&](auto same) { bytes += bytes_of(same, format.big_endian); };
            if (format.kind != Kind::floating) {
                bytes += bytes_of(static_cast<std::int64_t>(value), false)
                             .substr(0, static_cast<size_t>(format.number_bytes));
                if (format.big_endian) std::reverse(bytes.end() - format.number_bytes, bytes.end());
            } else if (format.number_bytes == 2) {  // of whole numbers below 2048
                const auto single = std::bit_cast<std::uint32_t>(static_cast<float>(value));
                const std::uint32_t exponent = single >> 23 & 255;
                const std::uint32_t size = exponent ? ((exponent - 112) << 10) + ((single >> 13) & 1023) : 0;
                put(static_cast<std::uint16_t>(((single >> 16) & 0x8000) + size));
            } else if (format.number_bytes == 4) {
                put(static_cast<float>(value));
            } else if (format.number_bytes == 8) {
                put(static_cast<double>(value));
            } else {
                put(static_cast<long double>(value));
            }
        }
        return bytes;
    }
    // Of `count` numbers that were read from the `first` one on; -1: none.
    index_t first_wrong(const void* data, index_t first, index_t count) const {
        return with_real(computed.precision, [&](auto zero) -> index_t {
            for (index_t i = 0; i < count; ++i) {
                auto value = zero;
                std::memcpy(&value, static_cast<const char*>(data) + i * static_cast<index_t>(sizeof value),
                            sizeof value);
                if (value != static_cast<decltype(zero)>(number(first + i, format))) return i;
            }
            return -1;
        });
    }
};

// A file in memory that checks each request, keeps what was asked for, and spoils what slack allows it to.
class StrictStore final : public Store {
  public:
    explicit StrictStore(std::string bytes) : bytes_(std::move(bytes)), times_(bytes_.size(), 0) {}
    Status sync() override { return {}; }
    index_t size_bytes() const override { return static_cast<index_t>(bytes_.size()); }
    std::string describe() const override { return "strict"; }
    // These bytes and no others, since forget().
    bool read_once(index_t begin, index_t bytes) const {
        const auto from = times_.begin() + begin, to = from + bytes;
        const auto is = [](char n) { return [n](char times) { return times == n; }; };
        return std::all_of(times_.begin(), from, is(0)) && std::all_of(from, to, is(1)) &&
               std::all_of(to, times_.end(), is(0));
    }
    void forget() { std::fill(times_.begin(), times_.end(), 0), slack_ = 0; }
    int slack() const { return slack_; }

  protected:
    Status do_read(const Run& run) override {
        SPANFFT_TRY(check_range(run));
        char* const data = static_cast<char*>(run.data);
        if (run.slack) {
            const auto address = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(data));
            if (address % kSlackBytes != run.offset_bytes % kSlackBytes)
                return error(Code::internal, "slack without alignment");
            ++slack_;
            const index_t before = run.offset_bytes % kSlackBytes;
            std::memset(data - before, 0x5A, static_cast<size_t>(round_up(before + run.bytes, kSlackBytes)));
        }
        std::memcpy(data, bytes_.data() + run.offset_bytes, static_cast<size_t>(run.bytes));
        for (index_t i = 0; i < run.bytes; ++i) ++times_[static_cast<size_t>(run.offset_bytes + i)];
        return {};
    }
    Status do_write(const Run&) override { return error(Code::internal, "a write"); }

  private:
    std::string bytes_;
    std::vector<char> times_;
    int slack_ = 0;
};

class Loaded : public testing::TestWithParam<std::string> {};

// Memory around a run keeps what it holds, but for what the run's own slack gives away.
void read_and_check(const Sample& sample, StrictStore& file, LoadedStore& store, index_t first, index_t count,
                    index_t shift, bool slack) {
    const auto elem = static_cast<index_t>(sample.computed.bytes());
    SCOPED_TRACE(cat(sample.format.print(), " as ", elem_name(sample.computed), ", elements ", first, " and on, ",
                     count, " at ", shift, slack ? " with slack" : "", ", offset ", sample.offset));
    const index_t bytes = count * elem, guard = 2 * kSlackBytes;
    std::vector<char> memory(static_cast<size_t>(bytes + 4 * guard), 'g');
    auto* base = memory.data();
    base += kSlackBytes - static_cast<index_t>(reinterpret_cast<std::uintptr_t>(base) % kSlackBytes);
    const index_t offset = store.offset_bytes() + first * elem;
    char* const data = base + guard + (slack ? offset % kSlackBytes : shift);
    file.forget();
    const StoreCounts before = store.counts(), file_before = file.counts();
    const Status status = store.read({offset, data, bytes, slack});
    ASSERT_TRUE(status.ok()) << status.message();
    const index_t in_file = count * sample.format.bytes(), parts = sample.format.complex ? 2 : 1;
    EXPECT_EQ(store.counts().reads - before.reads, 1);
    EXPECT_EQ(store.counts().read_bytes - before.read_bytes, in_file);
    EXPECT_EQ(file.counts().read_bytes - file_before.read_bytes, in_file);
    EXPECT_EQ(sample.first_wrong(data, first * parts, count * parts), -1);
    EXPECT_TRUE(file.read_once(sample.offset + first * sample.format.bytes(), in_file));
    const index_t at = data - memory.data();
    const index_t own = slack ? at - offset % kSlackBytes : at;
    const index_t end = slack ? own + round_up(offset % kSlackBytes + bytes, kSlackBytes) : at + bytes;
    const auto kept = [](char c) { return c == 'g'; };
    EXPECT_TRUE(std::all_of(memory.begin(), memory.begin() + own, kept));
    EXPECT_TRUE(std::all_of(memory.begin() + end, memory.end(), kept));
}

TEST_P(Loaded, RunsOfEveryLengthAndPlaceComeOutConverted) {
    Random random(74);
    for (const Precision precision : {Precision::single, Precision::dbl, Precision::extended}) {
        for (const index_t offset : {0, 128, 7, 4096}) {
            Sample sample{format_of(GetParam()), {}, 9001, offset};
            sample.computed = {precision, sample.format.complex};
            const auto elem = static_cast<index_t>(sample.computed.bytes());
            StrictStore file(sample.file());
            LoadedStore store(file, offset, sample.format, sample.computed, sample.elems);
            ASSERT_EQ(store.size_bytes(), store.offset_bytes() + sample.elems * elem);
            ASSERT_EQ(store.offset_bytes() % elem, 0);
            for (int i = 0; i < 40; ++i) {
                const index_t most = i % 4 ? 600 : sample.elems;
                const index_t count = 1 + random.below(most), first = random.below(sample.elems - count + 1);
                read_and_check(sample, file, store, first, count, random.below(64) * elem % 512, i % 2 == 0);
                if (HasFailure()) return;
            }
            read_and_check(sample, file, store, 0, sample.elems, 0, true);
            if (sample.format.bytes() != elem || offset % elem == 0) {
                EXPECT_GT(file.slack(), 0) << "of a whole array, no request could be direct";
            }
            read_and_check(sample, file, store, 0, sample.elems, elem, false);
            read_and_check(sample, file, store, sample.elems - 1, 1, 0, false);
            if (HasFailure()) return;
        }
    }
}

TEST_P(Loaded, ManyThreadsReadAtOnceFromAFile) {
    Sample sample{format_of(GetParam()), {}, 200003, 128};
    sample.computed = {Precision::dbl, sample.format.complex};
    const test::TemporaryFolder folder;
    test::write_file(folder.file("in"), sample.file());
    auto file = FileStore::open_input(folder.file("in"));
    ASSERT_TRUE(file.ok());
    LoadedStore store(*file.value(), 128, sample.format, sample.computed, sample.elems);
    const auto elem = static_cast<index_t>(sample.computed.bytes());
    const index_t each = 1777, count = ceil_div(sample.elems, each);
    std::vector<char> memory(static_cast<size_t>(sample.elems * elem));
    const std::function<spanfft::Run(index_t, index_t, index_t)> run = [&](index_t, index_t, index_t i) {
        return spanfft::Run{store.offset_bytes() + i * each * elem, memory.data() + i * each * elem,
                            std::min(each, sample.elems - i * each) * elem, false};
    };
    AsyncIo io(IoKind::read, 4);
    IoBatch batch;
    batch.store = &store;
    batch.count = count;
    batch.run = &run;
    io.start(batch);
    const Status status = io.wait(batch);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_NE(io.describe().find("they convert"), std::string::npos) << io.describe();
    EXPECT_EQ(store.counts().reads, count);
    EXPECT_EQ(store.counts().read_bytes, sample.elems * sample.format.bytes());
    EXPECT_EQ(sample.first_wrong(memory.data(), 0, sample.reals()), -1);
}

INSTANTIATE_TEST_SUITE_P(Formats, Loaded, testing::ValuesIn(all_formats()), [](const auto& about) {
    return about.param[0] == '>' ? "big_" + about.param.substr(1) : about.param;
});

TEST(LoadedStore, FailsAsItsFileDoes) {
    for (const char* const text : {"i2", "f8"}) {  // wider and narrower than what is computed
        Sample sample{format_of(text), {Precision::single, false}, 50000, 0};
        MemoryStore memory(sample.elems * sample.format.bytes());
        const std::string bytes = sample.file();
        std::memcpy(memory.data(), bytes.data(), bytes.size());
        std::vector<float> data(50000);
        const spanfft::Run run{0, data.data(), 200000, false};
        test::FaultPlan counting;
        test::FaultyStore whole(memory, counting);
        LoadedStore store(whole, 0, sample.format, sample.computed, sample.elems);
        ASSERT_TRUE(store.read(run).ok());
        const index_t requests = counting.operations;
        EXPECT_EQ(requests > 1, text[0] == 'f');
        for (index_t fail_at = 1; fail_at <= requests; ++fail_at) {
            test::FaultPlan plan;
            plan.fail_at = fail_at;
            test::FaultyStore faulty(memory, plan);
            LoadedStore failing(faulty, 0, sample.format, sample.computed, sample.elems);
            const Status status = failing.read(run);
            EXPECT_EQ(status.code(), Code::io_error);
            EXPECT_EQ(failing.counts().reads, 0);
            EXPECT_EQ(failing.counts().read_bytes, 0);
        }
    }
}

TEST(LoadedStore, AFileThatIsCutShortIsAnError) {
    const Sample sample{format_of(">i4"), {Precision::dbl, false}, 5000, 64};
    const test::TemporaryFolder folder;
    std::string bytes = sample.file();
    bytes.resize(bytes.size() - 1);
    test::write_file(folder.file("in"), bytes);
    auto file = FileStore::open_input(folder.file("in"));
    ASSERT_TRUE(file.ok());
    LoadedStore store(*file.value(), 64, sample.format, sample.computed, sample.elems);
    std::vector<double> data(5000);
    const Status status = store.read({0, data.data(), 40000, false});
    EXPECT_EQ(status.code(), Code::corrupt_data);
    EXPECT_NE(status.message().find(folder.file("in")), std::string::npos) << status.message();
    EXPECT_TRUE(store.read({0, data.data(), 39992, false}).ok());
}

TEST(LoadedStore, RefusesWritesAndRunsThatCutAnElementOrLeaveTheArray) {
    const Sample sample{format_of("i2"), {Precision::dbl, false}, 100, 0};
    StrictStore file(sample.file());
    LoadedStore store(file, 0, sample.format, sample.computed, sample.elems);
    std::vector<double> data(200);
    EXPECT_EQ(store.write({0, data.data(), 8, false}).code(), Code::internal);
    EXPECT_EQ(store.read({4, data.data(), 8, false}).code(), Code::internal);
    EXPECT_EQ(store.read({0, data.data(), 12, false}).code(), Code::internal);
    EXPECT_EQ(store.read({792, data.data(), 16, false}).code(), Code::corrupt_data);
    EXPECT_TRUE(store.read({792, data.data(), 8, false}).ok());
    EXPECT_TRUE(store.read({0, data.data(), 0, false}).ok());
    EXPECT_EQ(store.file(), nullptr);
    EXPECT_TRUE(store.takes_many());
}

}  // namespace
}  // namespace spanfft
