#include "wires/recorder.h"

#include <rte_errno.h>
#include <rte_mempool.h>
#include <time.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/clock.h"
#include "core/port_checksums.h"
#include "core/refusal.h"
#include "wires/capture_file.h"

namespace wt {

namespace {

// Copies on their way to the file: at a drain every 50 ms enough for 160,000 frames a second; 19 MiB.
constexpr uint32_t copies = 8191, copies_cached = 64;
constexpr uint32_t burst_most = 64;

// Of a copy; it travels in the headroom.
struct taken {
    uint64_t tsc;
    direction way;
};
static_assert(RTE_PKTMBUF_HEADROOM >= sizeof(taken));

uint64_t wall_ns_now() {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

struct free_pool {
    void operator()(rte_mempool *p) const { rte_mempool_free(p); }
};
struct free_ring {
    void operator()(rte_ring *r) const { rte_ring_free(r); }
};

[[noreturn]] void refuse_memory() {
    throw refusal("recording: no memory for " + std::to_string(copies) +
                      " frames between worker and file: " + rte_strerror(rte_errno),
                  "give EAL 20 MiB more, or turn recording off");
}

// The bytes of a packet, in `whole` where they are not in one piece. What the port adds on the way is in
// them.
const void *frame_in(const rte_mbuf *m, std::vector<uint8_t> &whole) {
    const void *const frame = rte_pktmbuf_read(m, 0, m->pkt_len, whole.data());
    if (!(m->ol_flags & RTE_MBUF_F_TX_UDP_CKSUM)) return frame;
    if (frame != whole.data()) std::memcpy(whole.data(), frame, m->pkt_len);
    complete_checksums(whole.data(), m->ol_flags);
    return whole.data();
}

}  // namespace

struct recorder {
    recorder(const std::string &path, bool takes_received, double ns_per_tick, int numa_socket)
        : pool(rte_pktmbuf_pool_create("wt_record", copies, copies_cached, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                       numa_socket)),
          ring(pool ? rte_ring_create("wt_record", copies + 1, numa_socket, RING_F_SC_DEQ) : nullptr),
          sent(ring ? path : (refuse_memory(), path)),
          ns_per_tick(ns_per_tick),
          opened_wall_ns(wall_ns_now()),
          opened_tsc(now()) {
        if (takes_received) received.emplace(received_path(path));
    }
    capture_file &file_of(direction way) { return way == direction::sent ? sent : *received; }

    std::unique_ptr<rte_mempool, free_pool> pool;
    std::unique_ptr<rte_ring, free_ring> ring;
    capture_file sent;  // last of the three: a recording that cannot begin leaves no file behind
    std::optional<capture_file> received;
    double ns_per_tick;
    uint64_t opened_wall_ns, opened_tsc;  // the same moment
    uint64_t drained = 0;
    std::atomic<uint64_t> missed{0};  // found no room
    std::vector<uint8_t> whole;       // a frame of several segments, put together
};

std::string received_path(const std::string &path) {
    const std::filesystem::path file(path);
    return file.parent_path() / (file.stem().string() + "-received" + file.extension().string());
}

recorder *recorder_open(const std::string &path, bool takes_received, double ns_per_tick, int numa_socket) {
    return new recorder(path, takes_received, ns_per_tick, numa_socket);
}

void recorder_take(recorder *r, rte_mbuf *const *burst, uint32_t count, uint64_t tsc, direction way) {
    const taken about{tsc, way};
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf *copy = rte_pktmbuf_copy(burst[i], r->pool.get(), 0, UINT32_MAX);
        if (copy) {
            std::memcpy(copy->buf_addr, &about, sizeof about);
            if (rte_ring_mp_enqueue(r->ring.get(), copy) == 0) continue;
            rte_pktmbuf_free(copy);
        }
        r->missed.fetch_add(1, std::memory_order_relaxed);
    }
}

void recorder_drain(recorder *r) {
    rte_mbuf *burst[burst_most];
    // as many as there are now: workers that go on cannot keep us here
    for (uint32_t left = rte_ring_count(r->ring.get()); left > 0;) {
        const uint32_t count = rte_ring_sc_dequeue_burst(r->ring.get(), reinterpret_cast<void **>(burst),
                                                         left < burst_most ? left : burst_most, nullptr);
        if (count == 0) break;
        for (uint32_t i = 0; i < count; i++) {
            taken about;
            std::memcpy(&about, burst[i]->buf_addr, sizeof about);
            const auto since = static_cast<int64_t>(
                static_cast<double>(static_cast<int64_t>(about.tsc - r->opened_tsc)) * r->ns_per_tick);
            const uint32_t bytes = rte_pktmbuf_pkt_len(burst[i]);
            r->whole.resize(bytes);
            r->file_of(about.way).append(r->opened_wall_ns + since, frame_in(burst[i], r->whole), bytes);
        }
        rte_pktmbuf_free_bulk(burst, count);
        r->drained += count;
        left -= count;
    }
    r->sent.flush();
    if (r->received) r->received->flush();
}

recorded recorder_close(recorder *r) {
    const std::unique_ptr<recorder> closing(r);
    recorder_drain(r);
    r->sent.close();
    if (r->received) r->received->close();
    const uint64_t sent = r->sent.frames(), received = r->received ? r->received->frames() : 0;
    return {sent, r->missed.load() + r->drained - sent - received,
            r->received ? std::optional(received) : std::nullopt};
}

}  // namespace wt
