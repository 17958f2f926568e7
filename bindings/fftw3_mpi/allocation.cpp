// See allocation.hpp.
#include "allocation.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

namespace fftw3_mpi {
namespace {

constexpr std::size_t page = 4096, huge_page = std::size_t{1} << 21, least_bytes = std::size_t{1} << 20;

std::size_t whole(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

struct Allocations {
    std::map<const void*, std::shared_ptr<Allocation>> by_start;
    std::mutex mutex;
};

// Never destroyed: programs free memory until their end.
Allocations& allocations() {
    static auto* one = new Allocations;
    return *one;
}

// Moves a mapping, which may have failed, to the place of another one of the client's, with whose contents it begins.
bool replace(void* place, void* mapping, std::size_t length) {
    if (mapping == MAP_FAILED) return false;
    std::memcpy(mapping, place, length);
    if (mremap(mapping, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED) return true;
    munmap(mapping, length);
    return false;
}

}  // namespace

Allocation::~Allocation() { munmap(start, bytes); }

bool Allocation::adopt(void* array, std::size_t array_bytes) {
    const std::size_t length = whole(array_bytes, page);
    if (length > bytes || reinterpret_cast<std::uintptr_t>(array) % page != 0) return false;
    if (!replace(start, mremap(array, 0, length, MREMAP_MAYMOVE), length)) return false;
    adopted_bytes_ = length;
    return true;
}

bool Allocation::leave() {
    constexpr int protection = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
    return replace(start, mmap(nullptr, adopted_bytes_, protection, kind, -1, 0), adopted_bytes_);
}

void* allocate(std::size_t bytes) {
    if (bytes < least_bytes || bytes > SIZE_MAX / 2) return nullptr;
    // As spanfft's own windows it begins with a huge page, so that both mappings can have huge pages.
    const std::size_t length = whole(bytes, page);
    void* space = mmap(nullptr, length + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED) return nullptr;
    const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(space) % huge_page) % huge_page;
    char* const start = static_cast<char*>(space) + before;
    if (before > 0) munmap(space, before);
    if (before < huge_page) munmap(start + length, huge_page - before);
    auto& [by_start, mutex] = allocations();
    auto made = std::make_shared<Allocation>(start, length);
    const std::lock_guard lock(mutex);
    by_start.emplace(start, std::move(made));
    return start;
}

bool release(void* start) {
    auto& [by_start, mutex] = allocations();
    const std::lock_guard lock(mutex);
    return by_start.erase(start) > 0;
}

std::shared_ptr<Allocation> allocation_at(const void* start) {
    auto& [by_start, mutex] = allocations();
    const std::lock_guard lock(mutex);
    const auto place = by_start.find(start);
    return place == by_start.end() ? nullptr : place->second;
}

}  // namespace fftw3_mpi
