// What the kernel did for a thread, held against getrusage(2).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "host/cpu_time.h"

namespace wt::test::kernel_work_test {
namespace {

constexpr uint64_t ms = 1'000'000, pages = 64;

uint64_t ns_of(const timeval &t) {
    return static_cast<uint64_t>(t.tv_sec) * 1000 * ms + static_cast<uint64_t>(t.tv_usec) * 1000;
}

kernel_work own_work() { return kernel_work_of(gettid()).value_or(kernel_work{}); }

// Of this thread: pages of the program that the kernel had to read from the disk.
uint64_t large_faults_by_getrusage() {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return static_cast<uint64_t>(used.ru_majflt);
}

TEST(kernel_work, a_page_that_is_touched_first_is_a_minor_fault_whatever_the_threads_name) {
    uint64_t faults = 0, large_faults = 0, least_large_faults = 0, most_large_faults = 0;
    std::jthread([&] {
        prctl(PR_SET_NAME, ") R 1 2 3 4 5");
        const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        void *memory =
            mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        madvise(memory, pages * page, MADV_NOHUGEPAGE);
        const uint64_t first = large_faults_by_getrusage();
        const kernel_work before = own_work();
        const uint64_t second = large_faults_by_getrusage();
        for (size_t i = 0; i < pages; i++) static_cast<volatile char *>(memory)[i * page] = 1;
        least_large_faults = large_faults_by_getrusage() - second;
        const kernel_work after = own_work();
        most_large_faults = large_faults_by_getrusage() - first;
        faults = after.minor_faults - before.minor_faults;
        large_faults = after.major_faults - before.major_faults;
        munmap(memory, pages * page);
    }).join();
    EXPECT_GE(faults, pages);
    EXPECT_LT(faults, 2 * pages) << "of this thread alone";
    EXPECT_GE(large_faults, least_large_faults);
    EXPECT_LE(large_faults, most_large_faults);
}

TEST(kernel_work, system_calls_are_system_time) {
    const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(zeros, 0);
    std::vector<char> buffer(1 << 20);
    rusage used{};
    while (ns_of(used.ru_stime) < 50 * ms && ns_of(used.ru_utime) < 5000 * ms) {
        ASSERT_EQ(read(zeros, buffer.data(), buffer.size()), static_cast<ssize_t>(buffer.size()));
        ASSERT_EQ(getrusage(RUSAGE_THREAD, &used), 0);
    }
    close(zeros);
    const uint64_t system_ns = own_work().system_ns;
    EXPECT_GE(system_ns, ns_of(used.ru_stime) - 10 * ms);
    EXPECT_LE(system_ns, ns_of(used.ru_stime) + 10 * ms);
}

TEST(kernel_work, a_thread_that_is_none_has_none) { EXPECT_FALSE(kernel_work_of(0)); }

}  // namespace
}  // namespace wt::test::kernel_work_test
