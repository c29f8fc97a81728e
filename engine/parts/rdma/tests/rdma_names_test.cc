// Ends of a provider by name: whose the memory at their names is. No EAL.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "parts/rdma/fabric/provider.h"
#include "test_tools.h"

namespace wt::test::rdma_names_test {
namespace {

TEST(RdmaNames, APeerOnShmIsNamedOnceItsMemoryHasBeenThereForAWhile) {
    using namespace std::chrono_literals;
    const auto port = static_cast<uint16_t>(getpid());
    const fabric_address peer = fabric_address_of("shm", 0x7f090909, port, 0);
    const std::filesystem::path memory = "/dev/shm/windtunnel-127.9.9.9-" + std::to_string(port);
    EXPECT_FALSE(can_be_named("shm", peer));
    std::ofstream(memory).put(0);
    std::filesystem::permissions(memory, std::filesystem::perms{0600});
    EXPECT_FALSE(can_be_named("shm", peer));
    std::filesystem::last_write_time(memory, std::filesystem::file_time_type::clock::now() - 1s);
    EXPECT_TRUE(can_be_named("shm", peer));
    std::filesystem::remove(memory);
}

struct named_memory {
    uint16_t port = static_cast<uint16_t>(getpid());
    fabric_address at = fabric_address_of("shm", 0x7f090908, port, 0);
    std::filesystem::path file = "/dev/shm/windtunnel-127.9.9.8-" + std::to_string(port);

    named_memory() { make(); }
    ~named_memory() { std::filesystem::remove(file); }
    void make() const {
        std::ofstream(file).put(0);
        std::filesystem::permissions(file, std::filesystem::perms{0600});
    }
};

// Libfabric would take its addresses for the peer's.
TEST(RdmaNames, MemoryThatOthersMayHaveMadeIsRefused) {
    const named_memory memory;
    const std::string why = "rdma wire: " + memory.file.string() + " is not this user's alone";
    const auto refused = [&] {
        return contains(refusal_of([&] { can_be_named("shm", memory.at); }), why) &&
               contains(refusal_of([&] { check_memory("shm", memory.at); }), why);
    };
    EXPECT_FALSE(refused());
    std::filesystem::permissions(memory.file, std::filesystem::perms{0606});
    EXPECT_TRUE(refused());
    std::filesystem::permissions(memory.file, std::filesystem::perms{0600});
    if (geteuid() == 0) {
        ASSERT_EQ(chown(memory.file.c_str(), 65'534, getegid()), 0);
        EXPECT_TRUE(refused()) << "it is another user's";
    }
    std::filesystem::remove(memory.file);
    std::filesystem::create_symlink("/dev/null", memory.file);
    EXPECT_TRUE(refused()) << "it leads elsewhere";
    EXPECT_FALSE(contains(refusal_of([&] { check_memory("udp", memory.at); }), why));
}

// Libfabric would have taken its addresses for ours, and its owner would have taken it away again.
TEST(RdmaNames, MemoryThatIsNotWhatWasMappedIsRefused) {
    const named_memory memory;
    const std::string why = memory.file.string() + " is not the memory that this run has mapped";
    const auto refused = [&] { return contains(refusal_of([&] { check_memory("shm", memory.at); }), why); };
    EXPECT_TRUE(refused());
    const int fd = ::open(memory.file.c_str(), O_RDWR | O_CLOEXEC);
    void *const mapped = mmap(nullptr, 1, PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    EXPECT_FALSE(refused());
    std::filesystem::remove(memory.file);
    EXPECT_TRUE(refused()) << "nothing is there";
    memory.make();
    EXPECT_TRUE(refused()) << "another file is there";
    munmap(mapped, 1);
}

TEST(RdmaNames, APeerWithAnAddressCanBeNamedAtOnce) {
    EXPECT_TRUE(can_be_named("udp", fabric_address_of("udp", 0x7f000001, 17000, 0)));
}

}  // namespace
}  // namespace wt::test::rdma_names_test
