/* One packet at a time, for all threads: another one may send it. A state that is taken by compare-and-swap
 * has one owner, who alone reads and writes the rest. */
#include "latency.h"

#include <stdbool.h>
#include <string.h>

#include "channels.h"

enum { IDLE, WATCHED, TAKEN };

static struct {
    uint32_t state;
    uint32_t sum;
    const void *packet; /* NULL unless watched: what each tx call looks at */
    uint64_t since;
    struct wt_attach_channel *channel;
} watch __attribute__((aligned(64)));

/* Fields of struct rte_mbuf, the same in all releases that are known. */
static const char *data_of(const char *mbuf) {
    uint16_t offset;
    memcpy(&offset, mbuf + 16, sizeof offset);
    const char *buffer;
    memcpy(&buffer, mbuf, sizeof buffer);
    return buffer + offset;
}

/* A sum of 16-bit words, which stays the same if addresses or ports are swapped. Of the first 64 bytes it
 * leaves out what a router writes: the Ethernet header, and of IPv4 the time to live and the checksum. An
 * mbuf that was freed meanwhile and has another packet now is told by it, unless all packets are alike. */
static uint32_t sum_of(const char *mbuf) {
    uint16_t bytes;
    memcpy(&bytes, mbuf + 40, sizeof bytes);
    const char *const data = data_of(mbuf);
    uint32_t sum = bytes;
    for (unsigned i = 14; i + 2 <= bytes && i < 64; i += 2) {
        uint16_t word;
        memcpy(&word, data + i, sizeof word);
        if (i != 22 && i != 24) sum += word;
    }
    return sum;
}

static bool take(uint32_t from) {
    return __atomic_compare_exchange_n(&watch.state, &from, TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void give(uint32_t state, const void *packet) {
    __atomic_store_n(&watch.packet, packet, __ATOMIC_RELAXED);
    __atomic_store_n(&watch.state, state, __ATOMIC_RELEASE);
}

void wt_watch_packet(struct wt_attach_channel *channel, const void *packet, uint64_t now) {
    if (__atomic_load_n(&watch.state, __ATOMIC_RELAXED) != IDLE || !take(IDLE)) return;
    watch.channel = channel;
    watch.since = now;
    watch.sum = sum_of(packet);
    give(WATCHED, packet);
}

unsigned wt_find_packet(void *const *packets, unsigned count) {
    const void *const packet = __atomic_load_n(&watch.packet, __ATOMIC_RELAXED);
    if (!packet) return count;
    unsigned index = 0;
    while (index < count && packets[index] != packet) index++;
    if (index == count || !take(WATCHED)) return count;
    if (watch.packet == packet && watch.sum == sum_of(packet)) return index;
    if (watch.packet == packet) {
        wt_add(&watch.channel->delays_lost, 1);
        give(IDLE, NULL);
    } else {
        give(WATCHED, watch.packet); /* another one is watched by now */
    }
    return count;
}

void wt_settle_packet(unsigned index, unsigned sent, uint64_t handed_over) {
    if (index >= sent) {
        give(WATCHED, watch.packet);
        return;
    }
    wt_add(&watch.channel->delays[wt_attach_delay_bin(handed_over - watch.since)], 1);
    give(IDLE, NULL);
}

void wt_expire_packet(uint64_t oldest) {
    if (!take(WATCHED)) return;
    if (watch.since >= oldest) {
        give(WATCHED, watch.packet);
        return;
    }
    wt_add(&watch.channel->delays_lost, 1);
    give(IDLE, NULL);
}

void wt_drop_packet(void) {
    if (take(WATCHED)) give(IDLE, NULL);
}
