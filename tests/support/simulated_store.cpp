// Simulated and faulty stores; see simulated_store.hpp.
#include "support/simulated_store.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace spanfft::test {

Status MemoryStore::do_read(const Run& run) {
    if (run.offset_bytes < 0 || run.offset_bytes + run.bytes > size_bytes()) {
        return error(Code::corrupt_data, "memory ends at byte ", size_bytes(), ", asked for ", run.offset_bytes, "+",
                     run.bytes);
    }
    std::memcpy(run.data, bytes_.data() + run.offset_bytes, static_cast<size_t>(run.bytes));
    return {};
}

Status MemoryStore::do_write(const Run& run) {
    if (run.offset_bytes < 0 || run.offset_bytes + run.bytes > size_bytes()) {
        return error(Code::no_space, "memory ends at byte ", size_bytes(), ", asked to write ", run.offset_bytes, "+",
                     run.bytes);
    }
    std::memcpy(bytes_.data() + run.offset_bytes, run.data, static_cast<size_t>(run.bytes));
    const auto address = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(run.data));
    if (run.bytes >= kSplitBytes + 2 * kDirectBytes && (address - run.offset_bytes) % kDirectBytes != 0)
        ++writes_off_blocks_;
    for (index_t i = 0; i < run.bytes; ++i) ++writes_of_[static_cast<size_t>(run.offset_bytes + i)];
    return {};
}

Status FaultyStore::next(const char* what, index_t offset_bytes) {
    const index_t number = plan_.operations.fetch_add(1) + 1;
    if (plan_.fail_at == 0 || number < plan_.fail_at || (number > plan_.fail_at && !plan_.persistent)) return {};
    return error(plan_.code, "simulated fault: ", what, " number ", number, " at byte ", offset_bytes);
}

Status FaultyStore::do_read(const Run& run) {
    SPANFFT_TRY(next("read", run.offset_bytes));
    return inner_.read(run);
}

Status FaultyStore::do_write(const Run& run) {
    const Status status = next("write", run.offset_bytes);
    if (status.ok()) return inner_.write(run);
    Run torn = run;
    torn.bytes /= 2;
    torn.slack = false;
    if (torn.bytes > 0) (void)inner_.write(torn).ok();
    return status;
}

Status FaultyStore::sync() {
    SPANFFT_TRY(next("sync", 0));
    return inner_.sync();
}

TemporaryFolder::TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "spanfft-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> TemporaryFolder::names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

void write_file(const std::string& path, const std::string& content) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
}

}  // namespace spanfft::test
