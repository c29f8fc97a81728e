// disp_tx of a stream: takes packets from TCP, which copies them from its send buffer.
#include <rte_ether.h>

#include "core/checksum.h"
#include "core/mbufs.h"
#include "core/packet.h"
#include "parts/streams/stream.h"
#include "stages/dispatcher_control.h"

namespace wt {

rte_mbuf *stream_take_spare(stream &s) {
    if (unlikely(s.spares == 0)) {
        const auto whole = static_cast<uint32_t>(s.spare.size());
        if (mbufs_take(s.pool, s.spare.data(), whole))
            s.spares = whole;
        else if (mbufs_take(s.pool, s.spare.data(), 1))
            s.spares = 1;
        else
            return nullptr;
    }
    return s.spare[--s.spares];
}

void stream_finish_frame(const stream &s, const mac_address &to, rte_mbuf *m, uint32_t bytes) {
    uint8_t *const frame = frame_of(m);
    std::memcpy(frame, to.bytes, sizeof to.bytes);
    std::memcpy(frame + sizeof to.bytes, s.us.bytes, sizeof s.us.bytes);
    store<uint16_t>(frame + offset::type, RTE_BE16(RTE_ETHER_TYPE_IPV4));
    set_length(m, offset::ip + bytes);
    pad_frame(m);
}

namespace {

// In calls whose cycles are taken, what TCP's own copies took is the stage's step.
class copies_timer {
  public:
    explicit copies_timer(stream &s) : step_(s.tx_steps.now) {}
    tcp_copies *taken() { return step_ ? &taken_ : nullptr; }
    ~copies_timer() {
        if (likely(step_ == nullptr)) return;
        step_->cycles += taken_.ticks;
        step_->packets += taken_.packets;
        step_->stamps += 2 * taken_.packets;
    }

  private:
    wt_step *step_;
    tcp_copies taken_{};
};

// Writes packets of TCP to `to` until it has no more, or `most`; returns how many. *lacks: there is no mbuf.
uint32_t make_packets(dispatcher &d, rte_mbuf **to, uint32_t most, bool *lacks, const stage_call &call) {
    stream &s = stream_of(d);
    const int64_t now_us = stream_now_us(s, call);
    copies_timer timer(s);
    uint32_t count = 0;
    uint64_t bytes = 0;
    for (; count < most; count++) {
        rte_mbuf *const m = stream_take_spare(s);
        *lacks = m == nullptr;
        if (unlikely(*lacks)) break;
        const uint32_t made =
            wt_tcp_make_packet(s.connection.get(), now_us, frame_of(m) + offset::ip, timer.taken());
        if (made == 0) {
            s.spare[s.spares++] = m;
            break;
        }
        stream_finish_frame(s, s.peer, m, made);
        bytes += m->pkt_len;
        to[count] = m;
    }
    count_tx_bytes(d.nic, bytes, call);
    return count;
}

}  // namespace

call_result disp_tx_stream(void *role, const stage_call &call) {
    dispatcher &d = *static_cast<dispatcher *>(role);
    const uint32_t control = d.control.resolver ? send_control(d, call) : 0;
    uint32_t room;
    rte_mbuf **const to = handover_room(*d.nic.sending, &room);
    if (unlikely(room == 0 && control == 0 && wt_tcp_unacknowledged(stream_of(d).connection.get()) > 0))
        return {0, wanted_by(*d.nic.sending)};
    bool lacks = false;
    const uint32_t count = make_packets(d, to, std::min(room, d.batch_tx - control), &lacks, call);
    if (count > 0) {
        handover_put(*d.nic.sending, count);
        stream_publish_state(stream_of(d));
    }
    return {control + count, count == 0 && lacks ? for_mbufs : not_stalled};
}

}  // namespace wt
