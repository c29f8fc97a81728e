// Copies through parts/copies/copiers/copier.h beside the library's own calls on the very same device, in
// turns of a few milliseconds. What bench/copies.py runs.
//
//   raw_copies EAL... -- COPIER DEPTH BATCH
//
// COPIER: cpu (beside rte_memcpy) or dma (beside rte_dma_*, on the skeleton's own device; its thread gets
// lcore 1). Both contestants go round the same source and the same destination, and keep up to DEPTH copies
// running by submits of up to BATCH. Each line on stdin, a size in bytes and a number of milliseconds, is a
// round; the response is a line of JSON. First all bytes of a round of each contestant are compared.
#include <fcntl.h>
#include <rte_cycles.h>
#include <rte_dmadev.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_memcpy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/random_bytes.h"
#include "parts/copies/copiers/registry.h"

namespace {

constexpr uint64_t area = uint64_t{128} << 20;  // of the source, and of the destination: out of the caches
constexpr uint64_t turn_us = 2000, seed = 16;
constexpr uint16_t channel_of_device = 0;

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "raw_copies: %s\n", what);
    std::exit(1);
}

struct contestant {
    uint32_t (*submit)(void *state, const wt::copy_piece *pieces, uint32_t count);
    uint32_t (*completed)(void *state, uint32_t most);
    void *state;
    uint64_t bytes = 0, ticks = 0, preempted_ns = 0;
};

// The channel of the engine, as app_tx has it.
uint32_t ours_submit(void *state, const wt::copy_piece *pieces, uint32_t count) {
    const auto &c = *static_cast<wt::copy_channel *>(state);
    return c.submit(c.state, pieces, count);
}

uint32_t ours_completed(void *state, uint32_t most) {
    std::array<wt::copy_end, 256> ends;
    const auto &c = *static_cast<wt::copy_channel *>(state);
    const uint32_t ended = c.completed(c.state, ends.data(), std::min<uint32_t>(most, ends.size()));
    if (std::count(ends.begin(), ends.begin() + ended, wt::copy_end::failed)) fail("a copy failed");
    return ended;
}

uint32_t bare_memcpy(void *state, const wt::copy_piece *pieces, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) rte_memcpy(pieces[i].to, pieces[i].from, pieces[i].bytes);
    *static_cast<uint32_t *>(state) += count;
    return count;
}

uint32_t bare_memcpy_ended(void *state, uint32_t) {
    return std::exchange(*static_cast<uint32_t *>(state), 0);
}

uint32_t bare_dma_submit(void *state, const wt::copy_piece *pieces, uint32_t count) {
    const int16_t device = *static_cast<int16_t *>(state);
    uint32_t started = 0;
    while (started < count &&
           rte_dma_copy(device, channel_of_device, reinterpret_cast<rte_iova_t>(pieces[started].from),
                        reinterpret_cast<rte_iova_t>(pieces[started].to), pieces[started].bytes, 0) >= 0)
        started++;
    if (started > 0) rte_dma_submit(device, channel_of_device);
    return started;
}

uint32_t bare_dma_completed(void *state, uint32_t most) {
    bool error = false;
    const uint32_t ended =
        rte_dma_completed(*static_cast<int16_t *>(state), channel_of_device,
                          static_cast<uint16_t>(std::min<uint32_t>(most, 256)), nullptr, &error);
    if (error) fail("a copy failed");
    return ended;
}

// Pieces of one size from the source and to the destination, round and round.
class pieces_in_turn {
  public:
    pieces_in_turn(const uint8_t *from, uint8_t *to, uint32_t batch) : from_(from), to_(to), pieces_(batch) {}

    void size(uint32_t bytes) {
        bytes_ = bytes;
        at_ = 0;
    }

    const wt::copy_piece *next(uint32_t count) {
        uint64_t at = at_;
        for (uint32_t i = 0; i < count; i++, at += bytes_) {
            if (at + bytes_ > area) at = 0;
            pieces_[i] = {to_ + at, from_ + at, bytes_};
        }
        return pieces_.data();
    }

    void taken(uint32_t count) {
        for (uint32_t i = 0; i < count; i++) {
            if (at_ + bytes_ > area) at_ = 0;
            at_ += bytes_;
        }
    }

  private:
    const uint8_t *from_;
    uint8_t *to_;
    std::vector<wt::copy_piece> pieces_;
    uint64_t at_ = 0;
    uint32_t bytes_ = 0;
};

struct load {
    uint32_t depth, batch, bytes;
};

// Copies until `end`, then waits for what runs. Returns the number of copies.
uint64_t copy_until(uint64_t end, contestant &who, pieces_in_turn &pieces, const load &l) {
    uint64_t copies = 0;
    uint32_t running = 0;
    bool more = true;
    while (more || running > 0) {
        if (const uint32_t wanted = std::min(l.batch, l.depth - running); more && wanted > 0) {
            const uint32_t started = who.submit(who.state, pieces.next(wanted), wanted);
            pieces.taken(started);
            running += started;
            copies += started;
        }
        running -= who.completed(who.state, l.batch);
        more = more && rte_rdtsc() < end;
    }
    return copies;
}

// ns in which this thread was preempted: runnable, while the kernel ran another thread.
uint64_t preempted_ns(int schedstat) {
    char text[64] = "";
    unsigned long long ran = 0, waited = 0;
    if (schedstat < 0 || pread(schedstat, text, sizeof text - 1, 0) <= 0) return 0;
    return std::sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

void turn(contestant &who, pieces_in_turn &pieces, const load &l, uint64_t ticks, int schedstat) {
    const uint64_t delay = preempted_ns(schedstat), start = rte_rdtsc();
    who.bytes += copy_until(start + ticks, who, pieces, l) * l.bytes;
    who.ticks += rte_rdtsc() - start;
    who.preempted_ns += preempted_ns(schedstat) - delay;
}

void check(contestant &who, const uint8_t *from, uint8_t *to, const load &l) {
    constexpr uint32_t copies = 64;
    const uint64_t checked = uint64_t{copies} * l.bytes;
    std::memset(to, 0, checked);
    std::vector<wt::copy_piece> pieces;
    for (uint32_t i = 0; i < copies; i++)
        pieces.push_back({to + uint64_t{i} * l.bytes, from + uint64_t{i} * l.bytes, l.bytes});
    for (uint32_t started = 0, ended = 0; ended < copies;) {
        started += who.submit(who.state, pieces.data() + started, std::min(l.batch, copies - started));
        ended += who.completed(who.state, l.batch);
    }
    if (std::memcmp(to, from, checked) != 0) fail("bytes differ from the source");
}

void print(const char *name, const contestant &c, const char *end) {
    std::printf("\"%s\": {\"bytes\": %" PRIu64 ", \"ticks\": %" PRIu64 ", \"preempted_ns\": %" PRIu64 "}%s",
                name, c.bytes, c.ticks, c.preempted_ns, end);
}

uint8_t *memory() {
    auto *const at = static_cast<uint8_t *>(rte_malloc("raw copies", area, RTE_CACHE_LINE_SIZE));
    if (!at) fail("no memory");
    return at;
}

}  // namespace

int main(int argc, char **argv) {
    const int taken = rte_eal_init(argc, argv);
    if (taken < 0 || argc - taken != 4) fail("usage: see raw_copies.cc");
    char **const a = argv + taken + 1;
    const std::string copier = a[0];
    load l{static_cast<uint32_t>(std::atoi(a[1])), static_cast<uint32_t>(std::atoi(a[2])), 256};
    if (l.batch < 1 || l.batch > 256 || l.depth < 1) fail("a batch is 1 to 256 copies, a depth 1 or more");

    wt::copy_channel channel = wt::open_copier(copier, {.application = 0,
                                                        .depth = l.depth,
                                                        .options = {},
                                                        .lcores = {1},
                                                        .seed = seed,
                                                        .ticks_per_ns = rte_get_tsc_hz() / 1e9});
    uint32_t ended = 0;
    auto device = static_cast<int16_t>(rte_dma_get_dev_id_by_name(channel.device.c_str()));
    contestant ours{ours_submit, ours_completed, &channel};
    contestant bare = channel.immediate ? contestant{bare_memcpy, bare_memcpy_ended, &ended}
                                        : contestant{bare_dma_submit, bare_dma_completed, &device};

    uint8_t *const from = memory(), *const to = memory();
    random_bytes_fill(seed, from, area);
    for (contestant *who : {&ours, &bare}) check(*who, from, to, l);
    pieces_in_turn pieces(from, to, l.batch);

    char path[64], line[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
    const int schedstat = open(path, O_RDONLY);
    const uint64_t hz = rte_get_tsc_hz();
    unsigned long long ms = 0;
    while (std::fgets(line, sizeof line, stdin)) {
        if (std::sscanf(line, "%" SCNu32 " %llu", &l.bytes, &ms) != 2 || l.bytes < 1 || l.bytes > area)
            fail("a round is a size in bytes and a number of milliseconds");
        pieces.size(l.bytes);
        for (contestant *who : {&ours, &bare}) who->bytes = who->ticks = who->preempted_ns = 0;
        const uint64_t end = rte_rdtsc() + hz / 1000 * ms;
        do
            for (contestant *who : {&ours, &bare}) turn(*who, pieces, l, hz / 1000000 * turn_us, schedstat);
        while (rte_rdtsc() < end);
        std::printf("{\"tsc_hz\": %" PRIu64 ", ", hz);
        print("ours", ours, ", ");
        print("bare", bare, "}\n");
        std::fflush(stdout);
    }
    channel.close(channel.state);
    return 0;
}
