/* A turn of a thread lasts from one receive call to the next one. Blocks of WT_BLOCK turns are timed, with a
 * random number of turns between them, because an application has periods of its own; the first turn of a
 * block is thrown away, because it runs code and touches memory that the turns before did not. All of it is
 * per thread: a call that a driver makes itself (a bonding device's) is counted, and its time belongs to the
 * call that it is in. */
#include "turns.h"

#include <stdbool.h>
#include <stddef.h>

#include "channels.h"
#include "latency.h"

enum { WT_BLOCK = 8, PACKET_LENGTH = 36 /* pkt_len in struct rte_mbuf */ };

#define rarely(condition) __builtin_expect(!!(condition), 0)
/* Kept out of the functions that every call passes: these then save fewer registers. */
#define RARE __attribute__((noinline))

static inline uint32_t bin_of(uint32_t packets) {
    return packets < WT_ATTACH_BURSTS - 1 ? packets : WT_ATTACH_BURSTS - 1;
}

static inline uint32_t modes(void) { return wt_read(&wt_settings.modes); }

/* The calling thread, up to date; NULL: it is to be left alone. */
static inline struct wt_thread *self_now(void) {
    struct wt_thread *self = wt_self;
    if (rarely(!self) && !(self = wt_enter_thread())) return NULL;
    if (rarely(self->generation != wt_read(&wt_settings.generation))) wt_renew_thread(self);
    return self;
}

static inline void count(struct wt_attach_channel *channel, uint32_t burst, uint32_t moved, uint32_t asked) {
    wt_add(&channel->calls, 1);
    wt_add(&channel->packets, moved);
    wt_add(&channel->bursts[bin_of(burst)], 1);
    if (rarely(asked > channel->asked)) __atomic_store_n(&channel->asked, asked, __ATOMIC_RELAXED);
}

static void end_turn(const struct wt_turn *turn, uint64_t now) {
    const uint64_t ticks = now - turn->start - turn->delayed;
    if (ticks > wt_read(&wt_settings.interrupted_ticks)) {
        wt_add(&turn->channel->interrupted_turns, 1);
        wt_add(&turn->channel->interrupted_ticks, ticks);
        return;
    }
    struct wt_attach_turns *const timed = &turn->channel->timed[turn->bin];
    wt_add(&timed->turns, 1);
    wt_add(&timed->rx_ticks, turn->rx);
    wt_add(&timed->tx_ticks, turn->tx);
    wt_add(&timed->application_ticks, ticks - turn->rx - turn->tx);
}

static void size_packet(struct wt_attach_channel *channel, const char *packet) {
    uint32_t length;
    __builtin_memcpy(&length, packet + PACKET_LENGTH, sizeof length);
    const unsigned power = 31u - (unsigned)__builtin_clz(length | 1);
    wt_add(&channel->sized_packets, 1);
    wt_add(&channel->sized_bytes, length);
    wt_add(&channel->sizes[power < WT_ATTACH_SIZES ? power : WT_ATTACH_SIZES - 1], 1);
}

/* A receive call of a block: it ends the turn before, and begins one unless the block is over. */
RARE static uint16_t receive_timed(struct wt_thread *self, struct wt_attach_channel *channel, wt_burst driver,
                                   void *queue, void **packets, uint16_t most) {
    const uint64_t start = wt_ticks();
    if (self->in_block > 1) end_turn(&self->turn, start);
    if (self->in_block == WT_BLOCK) {
        const uint64_t every = wt_read(&wt_settings.timed_every);
        self->in_block = 0;
        self->gap = every > WT_BLOCK ? 1 + (uint32_t)(wt_random(self) % (2 * (every - WT_BLOCK))) : 1;
        return driver(queue, packets, most);
    }
    self->in_block++;
    const uint16_t got = driver(queue, packets, most);
    const uint64_t end = wt_ticks();
    self->turn = (struct wt_turn){.channel = channel, .start = start, .rx = end - start, .bin = bin_of(got)};
    if (got && modes() & (WT_ATTACH_SIZED | WT_ATTACH_LATENCY)) {
        const void *const packet = packets[wt_random(self) % got];
        if (modes() & WT_ATTACH_SIZED) size_packet(channel, packet);
        if (modes() & WT_ATTACH_LATENCY) wt_watch_packet(channel, packet, end);
    }
    return got;
}

/* Makes a call longer. Whatever the observer asked for, a call waits 1 ms at most, and none after
 * the time that it named, nor without a lease. */
RARE static void wait_on_purpose(struct wt_thread *self, struct wt_attach_channel *channel,
                                 uint32_t packets) {
    const uint64_t start = wt_ticks();
    if (start >= __atomic_load_n(&wt_settings.delay_until, __ATOMIC_ACQUIRE)) return;
    const uint64_t asked = wt_read(&wt_settings.fill_ticks) + wt_read(&wt_settings.delay_ticks) * packets;
    const uint64_t most = wt_read(&wt_settings.delay_most), ticks = asked < most ? asked : most;
    uint64_t now = start;
    while (now - start < ticks) {
        __builtin_ia32_pause();
        now = wt_ticks();
    }
    wt_add(&channel->delayed_ticks, now - start);
    self->turn.delayed += now - start;
}

uint16_t wt_receive(void *queue, void **packets, uint16_t most, wt_burst driver, unsigned port) {
    struct wt_thread *self;
    struct wt_attach_channel *channel;
    if (rarely(!modes()) || rarely(!(self = self_now())) ||
        rarely(!(channel = wt_channel_of(self, queue, port, WT_ATTACH_RX))))
        return driver(queue, packets, most);

    uint16_t got;
    const bool outer = self->depth++ == 0;
    if (rarely(modes() & WT_ATTACH_TIMED && outer && (self->in_block || --self->gap == 0)))
        got = receive_timed(self, channel, driver, queue, packets, most);
    else
        got = driver(queue, packets, most);
    self->depth--;
    count(channel, got, got, most);
    if (rarely(wt_read(&wt_settings.delay_thread) == self->tid) && outer) wait_on_purpose(self, channel, got);
    return got;
}

RARE static uint16_t send_watched(wt_burst driver, void *queue, void **packets, uint16_t most) {
    const unsigned index = wt_find_packet(packets, most);
    if (index == most) return driver(queue, packets, most);
    const uint64_t now = wt_ticks();
    const uint16_t sent = driver(queue, packets, most);
    wt_settle_packet(index, sent, now);
    return sent;
}

uint16_t wt_send(void *queue, void **packets, uint16_t most, wt_burst driver, unsigned port) {
    struct wt_thread *self;
    struct wt_attach_channel *channel;
    if (rarely(!modes()) || rarely(!(self = self_now())) ||
        rarely(!(channel = wt_channel_of(self, queue, port, WT_ATTACH_TX))))
        return driver(queue, packets, most);

    const bool outer = self->depth++ == 0, timed = outer && self->in_block;
    const uint64_t start = timed ? wt_ticks() : 0;
    const uint16_t sent = modes() & WT_ATTACH_LATENCY ? send_watched(driver, queue, packets, most)
                                                      : driver(queue, packets, most);
    if (timed) self->turn.tx += wt_ticks() - start;
    self->depth--;
    count(channel, most, sent, most);
    if (rarely(sent < most)) wt_add(&channel->refused, most - sent);
    /* what is behind another thread has no receive call to delay */
    if (rarely(wt_read(&wt_settings.delay_thread) == self->tid) && outer && !self->receives)
        wait_on_purpose(self, channel, most);
    return sent;
}
