#include "slicers/switches.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace wt {

constexpr uint64_t data_pages = 128;  // 512 KiB: what one CPU may lock without CAP_IPC_LOCK; 8,000 switches

switch_watch::switch_watch(int cpu) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.context_switch = 1;
    attr.sample_id_all = 1;
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    descriptor_ = static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
    if (descriptor_ < 0) {
        why_ = std::string("perf_event_open: ") + std::strerror(errno);
        return;
    }
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    void *mapped = mmap(nullptr, (1 + data_pages) * page, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (mapped == MAP_FAILED) {
        why_ = std::string("mmap of perf events: ") + std::strerror(errno);
        return;
    }
    page_ = static_cast<perf_event_mmap_page *>(mapped);
    size_ = data_pages * page;
}

switch_watch::~switch_watch() {
    if (page_) munmap(page_, size_ + static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
    if (descriptor_ >= 0) close(descriptor_);
}

uint64_t switch_watch::take_lost() {
    const uint64_t lost = lost_;
    lost_ = 0;
    return lost;
}

void switch_watch::copy(uint64_t from, void *to, uint64_t size) const {
    const char *data = reinterpret_cast<const char *>(page_) + page_->data_offset;
    const uint64_t at = from % size_, first = size < size_ - at ? size : size_ - at;
    std::memcpy(to, data + at, first);
    std::memcpy(static_cast<char *>(to) + first, data, size - first);
}

bool switch_watch::next(record &r) {
    struct sample {
        uint32_t pid, tid;
        uint64_t time;
    };
    if (!page_) return false;
    std::atomic_ref<__u64> head(page_->data_head), tail(page_->data_tail);
    uint64_t at = tail.load(std::memory_order_relaxed);
    const uint64_t end = head.load(std::memory_order_acquire);
    while (at < end) {
        perf_event_header header;
        copy(at, &header, sizeof header);
        const uint64_t begin = at;
        at += header.size;
        if (header.type == PERF_RECORD_LOST) {
            uint64_t id_and_lost[2];
            copy(begin + sizeof header, id_and_lost, sizeof id_and_lost);
            lost_ += id_and_lost[1];
        }
        if (header.type == PERF_RECORD_SWITCH_CPU_WIDE) {
            sample s;
            copy(at - sizeof s, &s, sizeof s);
            tail.store(at, std::memory_order_release);
            r = {static_cast<int>(s.tid), !(header.misc & PERF_RECORD_MISC_SWITCH_OUT), s.time};
            return true;
        }
    }
    tail.store(at, std::memory_order_release);
    return false;
}

}  // namespace wt
