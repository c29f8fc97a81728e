#include "wires/emulated_link.h"

#include <algorithm>
#include <bit>

namespace wt {

namespace {

constexpr uint32_t fraction_bits = 12;

emulated_link::packet &at(emulated_link &l, uint64_t place) {
    return l.packets[place & (l.packets.size() - 1)];
}

uint64_t since_start(const emulated_link &l, uint64_t now) { return (now - l.line->start) << fraction_bits; }

// Those that have got onto the line by now wait no more.
void begin(emulated_link &l, uint64_t now) {
    const uint64_t before = l.begun;
    while (l.begun < l.tail && at(l, l.begun).begins <= now) l.begun++;
    if (l.begun > before)
        l.line->waiting.fetch_sub(static_cast<uint32_t>(l.begun - before), std::memory_order_relaxed);
}

uint64_t time_on_line(const emulated_link &l, uint32_t bytes) {
    return l.ticks_per_byte * (bytes + link_framing_bytes) >> (32 - fraction_bits);
}

// Takes the line for so long from the first moment on at which it is free. Returns that moment.
uint64_t take_line(emulated_line &line, uint64_t now, uint64_t length) {
    uint64_t free_at = line.free_at.load(std::memory_order_relaxed), begins;
    do begins = std::max(free_at, now);
    while (!line.free_at.compare_exchange_weak(free_at, begins + length, std::memory_order_relaxed));
    return begins;
}

}  // namespace

emulated_link::emulated_link(const link_plan &plan, emulated_line *line, double ns_per_tick, uint32_t mbufs)
    : line(line),
      ticks_per_byte(plan.bits_per_s ? static_cast<uint64_t>(8e9 / ns_per_tick / *plan.bits_per_s * 0x1p32)
                                     : 0),
      delay(static_cast<uint64_t>(static_cast<double>(plan.delay_ns) / ns_per_tick * (1 << fraction_bits))),
      depth(plan.queue),
      packets(std::bit_ceil(mbufs + 1)) {}

uint32_t link_enter(emulated_link &l, rte_mbuf **burst, uint32_t count, uint64_t tsc) {
    const uint64_t now = since_start(l, tsc);
    begin(l, now);
    uint32_t full = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool busy = l.line->free_at.load(std::memory_order_relaxed) > now;
        if (busy && l.line->waiting.load(std::memory_order_relaxed) >= l.depth) {
            rte_pktmbuf_free(burst[i]);
            full++;
            continue;
        }
        const uint64_t length = time_on_line(l, burst[i]->pkt_len), begins = take_line(*l.line, now, length);
        at(l, l.tail++) = {burst[i], begins, begins + length + l.delay};
        l.line->waiting.fetch_add(1, std::memory_order_relaxed);
        begin(l, now);
    }
    return full;
}

uint32_t link_leave(emulated_link &l, rte_mbuf **out, uint32_t most, uint64_t tsc) {
    const uint64_t now = since_start(l, tsc);
    begin(l, now);
    uint32_t count = 0;
    for (; count < most && l.head < l.tail && at(l, l.head).arrives <= now; l.head++)
        out[count++] = at(l, l.head).mbuf;
    return count;
}

void link_free(emulated_link &l) {
    for (; l.head < l.tail; l.head++) rte_pktmbuf_free(at(l, l.head).mbuf);
}

}  // namespace wt
