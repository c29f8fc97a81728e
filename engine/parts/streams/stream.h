// A stream: one TCP connection (tcp.h) of one application and its dispatcher, whose app_tx, app_rx,
// disp_tx and disp_rx all run on one worker.
//
//   client   app_tx   has writes copied from the source into the send buffer, and commits what is copied
//            app_rx   ends writes that the peer has acknowledged: each is a message of the in-flight table
//   server   app_rx   reads, and checks
//   both     disp_rx  gives packets to TCP, disp_tx takes them from it
#pragma once

#include <rte_mbuf.h>

#include <atomic>
#include <memory>
#include <vector>

#include "core/clock.h"
#include "core/eal_memory.h"
#include "core/steps.h"
#include "core/worker.h"
#include "parts/copies/source.h"
#include "parts/streams/tcp.h"
#include "stages/application.h"
#include "stages/dispatcher.h"

namespace wt {

struct tcp_connection_free {
    void operator()(tcp_connection *c) const { wt_tcp_free(c); }
};

// A write under way: it ends with this byte of the stream.
struct stream_write {
    uint64_t end;
    uint32_t slot;  // of the in-flight table
};

struct stream_checks {
    uint64_t bytes = 0, wrong_bytes = 0, first_wrong = 0;  // first_wrong: position, where there is one
};

struct alignas(RTE_CACHE_LINE_SIZE) stream : carrier {
    eal_memory send_buffer, receive_buffer;
    std::unique_ptr<tcp_connection, tcp_connection_free>
        connection;  // declared behind its buffers: it goes first
    const run_signals *signals;
    uint64_t tick_mult;  // ns = ticks * tick_mult >> 32
    // as main sees it: written by the worker
    std::atomic<tcp_state> state{tcp_state::idle};

    // client: app_tx, app_rx. Positions in the stream.
    uint64_t send_bytes;
    uint32_t write_bytes, writes_at_once;
    uint64_t made = 0, committed = 0;
    uint8_t *write_at = nullptr;                                 // where the next copy goes
    std::vector<stream_write> writes;                            // a ring
    uint32_t writes_head = 0, writes_done = 0, writes_tail = 0;  // ended, committed, made: modulo 2^32

    // server: app_rx
    uint32_t read_bytes = 0;
    bool scan = false, verify = false, finished = false;
    uint64_t read = 0;
    source_layout layout;
    stream_checks found;
    uint64_t scanned = 0;  // what reading every byte comes to

    // disp_tx, disp_rx
    mac_address us, peer;
    rte_mempool *pool;
    std::vector<rte_mbuf *> spare;  // mbufs for packets to be made
    uint32_t spares = 0;
    handler_steps tx_steps;
    const application *of;  // whose copies run

    stream(const source_layout &l) : layout(l) {}
};

// Of an application or a dispatcher whose workload is a stream.
inline stream &stream_of(const application &a) { return static_cast<stream &>(*a.carrier); }
inline stream &stream_of(const dispatcher &d) { return static_cast<stream &>(*d.carrier); }

// Null: it has none. Not for the way of packets.
inline stream *find_stream(const application &a) { return dynamic_cast<stream *>(a.carrier.get()); }

// Where the byte at a position of a stream stands in the source: its writes take the parts in turn, and are
// whole lines long.
inline uint64_t stream_source_position(const source_layout &s, uint64_t position) {
    return position % (s.parts * s.part_bytes);
}

inline int64_t stream_now_us(const stream &s, const stage_call &call) {
    return static_cast<int64_t>(ticks_to_ns(stage_now(call), s.tick_mult) / 1000);
}

// Another thread may look at it.
inline void stream_publish_state(stream &s) {
    s.state.store(wt_tcp_state_of(s.connection.get()), std::memory_order_relaxed);
}

// Takes an mbuf that is ready to be written; null: the pool is empty.
rte_mbuf *stream_take_spare(stream &s);

// Writes the Ethernet header in front of an IP packet of `bytes` bytes that stands in `m`, and pads it.
void stream_finish_frame(const stream &s, const mac_address &to, rte_mbuf *m, uint32_t bytes);

// Hands the pieces on that are copied; returns how many writes are complete. `most`: of these.
uint32_t stream_commit(application &a, uint32_t most);

// The stages, in the place of those of messages (stages/stages.h).
call_result app_tx_stream(void *role, const stage_call &call);        // client
call_result app_rx_acknowledged(void *role, const stage_call &call);  // client
call_result app_rx_stream(void *role, const stage_call &call);        // server
call_result disp_tx_stream(void *role, const stage_call &call);
call_result disp_rx_stream(void *role, const stage_call &call);

}  // namespace wt
