// Positioned reads and writes on a file, direct where possible; see file_store.hpp.
#include "disk/file_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace spanfft {

namespace {

// Short runs come back to the same pages with the next panel: dropping them after every 32 MiB made a sweep in 2.5 KiB
// runs 5 and 18 times slower than leaving them (two pairs of runs, busy machine). The cache is the system's to take
// back, not this process's memory.
constexpr index_t kDropEveryBytes = index_t{1} << 30;

bool aligned(index_t value, index_t alignment) { return value % alignment == 0; }

index_t address_of(const void* data) { return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(data)); }

// Alignment that direct I/O needs on this file; 0 when it can't be had.
index_t direct_alignment(int descriptor, index_t& address_alignment) {
#ifdef STATX_DIOALIGN
    struct statx info;
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 && (info.stx_mask & STATX_DIOALIGN)) {
        address_alignment = static_cast<index_t>(info.stx_dio_mem_align);
        return static_cast<index_t>(info.stx_dio_offset_align);
    }
#else
    (void)descriptor;
#endif
    address_alignment = kSlackBytes;
    return kSlackBytes;  // a wrong guess costs an EINVAL and the buffered path, nothing else
}

// Opens without waiting for a FIFO's other end, for which there is no other way to ask; io_uring would take it for
// more.
int open_unwaiting(const std::string& path, int flags) {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor >= 0) (void)fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    return descriptor;
}

}  // namespace

Result<std::unique_ptr<FileStore>> FileStore::open_input(const std::string& path) {
    const int descriptor = open_unwaiting(path, O_RDONLY);
    if (descriptor < 0) return error_errno(Code::io_error, errno, "could not open " + path);
    struct stat info;
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        ::close(descriptor);
        return error(Code::io_error, path, " is not a regular file, which an input has to be; copy it into one");
    }
    auto store = adopt(descriptor, path, static_cast<index_t>(info.st_size));
    if (store.ok()) store.value()->modified_ = info.st_mtim;
    return store;
}

bool FileStore::unchanged() const {
    struct stat now;
    return fstat(buffered_, &now) != 0 ||
           (now.st_mtim.tv_sec == modified_.tv_sec && now.st_mtim.tv_nsec == modified_.tv_nsec &&
            static_cast<index_t>(now.st_size) == size_bytes_);
}

Result<std::unique_ptr<FileStore>> FileStore::open_output(const std::string& path) {
    const int descriptor = open_unwaiting(path, O_RDWR | O_NOFOLLOW);
    struct stat info;
    if (descriptor < 0 || fstat(descriptor, &info) != 0) {
        const int failure = errno;
        if (descriptor >= 0) ::close(descriptor);
        return error_errno(Code::io_error, failure, "could not open " + path + "; all ranks need the same file system");
    }
    return adopt(descriptor, path, static_cast<index_t>(info.st_size));
}

Result<std::unique_ptr<FileStore>> FileStore::adopt(int descriptor, const std::string& path, index_t size_bytes) {
    std::unique_ptr<FileStore> store(new FileStore());
    store->path_ = path;
    store->buffered_ = descriptor;
    store->size_bytes_ = size_bytes;
    // Panels are read in strides that the kernel would take for random; reading ahead would only read twice. And what
    // is read ahead may be what is written directly beside, in another area of scratch: the page cache then keeps what
    // was there before, and the next fsync fails (seen once, "Page cache invalidation failure on direct I/O" of
    // Linux 6.18).
    (void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
    const int access = fcntl(descriptor, F_GETFL) & O_ACCMODE;
    const int direct = open_unwaiting(path, access | O_DIRECT | O_NOFOLLOW * (access == O_RDWR));
    if (direct < 0) return store;  // tmpfs before Linux 6.6, some network file systems
    struct stat mine, theirs;
    const bool same = fstat(descriptor, &mine) == 0 && fstat(direct, &theirs) == 0 && mine.st_ino == theirs.st_ino &&
                      mine.st_dev == theirs.st_dev;
    store->offset_alignment_ = direct_alignment(direct, store->address_alignment_);
    if (same && store->offset_alignment_ > 0) {
        store->direct_ = direct;
    } else {
        ::close(direct);
    }
    return store;
}

FileStore::~FileStore() {
    if (direct_ >= 0) ::close(direct_);
    if (buffered_ >= 0) ::close(buffered_);
}

std::string FileStore::describe() const { return path_ + (direct() ? " (direct I/O)" : " (through the page cache)"); }

Status FileStore::sync() {
    if (fsync(buffered_) == 0) return {};
    const Code code = errno == ENOSPC || errno == EDQUOT ? Code::no_space : Code::io_error;
    return error_errno(code, errno, "could not flush " + path_);
}

Status FileStore::failed(const char* what, const Run& run, int errno_value) const {
    const Code code = errno_value == ENOSPC || errno_value == EDQUOT ? Code::no_space : Code::io_error;
    return error_errno(code, errno_value,
                       cat("could not ", what, " ", run.bytes, " bytes at byte ", run.offset_bytes, " of ", path_));
}

// The page cache must not fill with data that no one will read again: start writing it out, let clean pages go.
void FileStore::drop_behind(index_t bytes, bool dirty) {
    const index_t before = cached_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (before / kDropEveryBytes == (before + bytes) / kDropEveryBytes) return;
    if (dirty) (void)sync_file_range(buffered_, 0, 0, SYNC_FILE_RANGE_WRITE);
    (void)posix_fadvise(buffered_, 0, 0, POSIX_FADV_DONTNEED);
}

FileTransfer FileStore::transfer(IoKind kind, const Run& run, index_t from) const {
    FileTransfer next{run,
                      kind == IoKind::write,
                      false,
                      false,
                      static_cast<char*>(run.data) + (from - run.offset_bytes),
                      from,
                      run.offset_bytes + run.bytes - from,
                      run.offset_bytes + run.bytes};
    if (direct_ >= 0) next.write ? choose_write(next) : choose_read(next);
    return next;
}

// Bytes 128..4224 with slack become 0..4608: `before` = 128 bytes in front, the rest up to the sector's end behind.
void FileStore::choose_read(FileTransfer& next) const {
    const Run& run = next.run;
    const index_t before = run.slack ? run.offset_bytes % kSlackBytes : 0;
    const index_t window = run.slack ? round_up(run.bytes + before, kSlackBytes) : run.bytes;
    if (!aligned(run.offset_bytes - before, offset_alignment_) || !aligned(window, offset_alignment_) ||
        !aligned(address_of(next.data) - before, address_alignment_)) {
        return;
    }
    next.direct = true;
    next.data -= before;
    next.offset_bytes -= before;
    next.bytes = window;
}

// A long run that does not begin or end with a block of the file: the blocks inside it go directly, the pieces at its
// ends through the page cache. They are not dropped from it, because the neighbouring run completes their blocks. Bytes
// 5000..20000: 5000..8192 and 16384..20000 are ends, 8192..16384 is written directly.
void FileStore::choose_write(FileTransfer& next) const {
    const Run& run = next.run;
    const index_t end = run.offset_bytes + run.bytes, whole_end = round_up(end, kDirectBytes);
    const index_t first = round_up(run.offset_bytes, kDirectBytes);
    const index_t last = run.slack && whole_end <= size_bytes_ ? whole_end : end - end % kDirectBytes;
    const bool whole_blocks = first == run.offset_bytes && last >= end;
    if (first >= last || (!whole_blocks && last - first < kSplitBytes) || !aligned(kDirectBytes, offset_alignment_) ||
        !aligned(address_of(run.data) + first - run.offset_bytes, address_alignment_)) {
        return;
    }
    const index_t from = next.offset_bytes;
    next.part = true;
    next.direct = from >= first && from < last;
    next.end_bytes = from < first ? first : next.direct ? last : end;
    next.bytes = next.end_bytes - from;
}

Result<bool> FileStore::settle(FileTransfer& transfer, index_t result) {
    const Run& run = transfer.run;
    if (result == -EINTR || result == -EAGAIN) return false;
    if (result == -EINVAL && transfer.direct) {
        // The file system changed its mind about alignment. What a read has of the request is read again.
        if (!transfer.write) {
            transfer.data = static_cast<char*>(run.data);
            transfer.offset_bytes = run.offset_bytes;
            transfer.bytes = run.bytes;
        }
        transfer.direct = false;
        return false;
    }
    if (transfer.write) {
        if (result <= 0) return failed("write", run, result < 0 ? static_cast<int>(-result) : ENOSPC);
    } else if (result < 0) {
        return failed("read", run, static_cast<int>(-result));
    }
    transfer.data += result;
    transfer.offset_bytes += result;
    transfer.bytes -= result;
    // Of a widened read nothing is wanted behind the payload, which may end with the file.
    const bool done = transfer.write ? transfer.bytes <= 0 : transfer.offset_bytes >= run.offset_bytes + run.bytes;
    if (!done && result == 0) {
        return error(Code::corrupt_data, path_, " ends at byte ", transfer.offset_bytes, ", but bytes ",
                     run.offset_bytes, " to ", run.offset_bytes + run.bytes, " were expected");
    }
    if (done && !transfer.direct && !transfer.part) drop_behind(run.bytes, transfer.write);
    return done;
}

Status FileStore::carry_out(IoKind kind, const Run& run) {
    const index_t end = run.offset_bytes + run.bytes;
    for (index_t from = run.offset_bytes; from < end;) {
        FileTransfer next = transfer(kind, run, from);
        from = next.end_bytes;
        for (bool done = false; !done;) {
            const auto bytes = static_cast<size_t>(next.bytes);
            const int descriptor = descriptor_for(next);
            const ssize_t result = next.write ? pwrite(descriptor, next.data, bytes, next.offset_bytes)
                                              : pread(descriptor, next.data, bytes, next.offset_bytes);
            SPANFFT_ASSIGN(done, settle(next, result < 0 ? -errno : result));
        }
    }
    return {};
}

}  // namespace spanfft
