/* The counters are read where phases meet, so that no packet is in none of them. */
#include "phases.h"

#include <stddef.h>
#include <string.h>

#include "release.h"
#include "turns.h"

/* struct rte_eth_stats begins with these in all releases that are known; what follows depends on how DPDK was
 * built: five counters for each of 16 queues by default, and of 256 at most. */
struct stats {
    uint64_t ipackets, opackets, ibytes, obytes, imissed, ierrors, oerrors, rx_nombuf;
    uint64_t queues[5 * 256];
};

static bool read_stats(unsigned port, struct stats *stats) {
    memset(stats, 0, offsetof(struct stats, queues));
    return wt_port_is_attached(port) && wt_release.stats_get((uint16_t)port, stats) == 0;
}

static void add_phase(struct wt_attach_port *facts, struct wt_attach_phase *phase, const struct stats *stats,
                      uint64_t now) {
    phase->phases++;
    phase->ticks += now - facts->stats_at;
    phase->rx_packets += stats->ipackets - facts->ipackets;
    phase->tx_packets += stats->opackets - facts->opackets;
}

void wt_end_phase(struct wt_attach_page *page, bool known, bool present) {
    static struct stats stats;
    for (unsigned port = 0; port < wt_release.ports && wt_release.stats_get; port++) {
        struct wt_attach_port *const facts = &page->port[port];
        if (!read_stats(port, &stats)) {
            facts->stats_at = 0;
            continue;
        }
        const uint64_t now = wt_ticks();
        /* a port that was reset meanwhile begins anew */
        if (known && facts->stats_at && stats.ipackets >= facts->ipackets &&
            stats.opackets >= facts->opackets)
            add_phase(facts, present ? &facts->present : &facts->absent, &stats, now);
        memcpy(&facts->ipackets, &stats, offsetof(struct stats, queues));
        facts->stats_at = now;
    }
}
