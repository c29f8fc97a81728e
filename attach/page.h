/* The page between the probe in an application and its observer: a memfd that the probe makes, which the
 * observer opens as /proc/PID/fd/N. So ptrace's permissions guard it, and nothing of it remains after the
 * application.
 *
 * The observer writes `control` alone, and the probe all the rest. Counters are cumulative, 64 bits wide, and
 * each has one writer: who reads them takes differences. Times are TSC ticks, unless the name ends in _ns
 * (CLOCK_MONOTONIC). src/windtunnel/parts/attach/page.py reads the same layout; a test holds both against
 * each other. */
#ifndef WT_ATTACH_PAGE_H
#define WT_ATTACH_PAGE_H

#include <stdint.h>

#define WT_ATTACH_NAME "windtunnel-attach"    /* of the memfd */
#define WT_ATTACH_MAGIC 0x68637461746e7477ull /* "wtntatch" */
#define WT_ATTACH_ABI 1u

enum {
    WT_ATTACH_PORTS = 64,     /* entries of rte_eth_fp_ops that are looked at */
    WT_ATTACH_CHANNELS = 512, /* a channel is what one thread does on one queue of a port in one direction */
    WT_ATTACH_BURSTS = 66,    /* packets of a call: 0 to 64, and more */
    WT_ATTACH_SIZES = 16,   /* lengths of packets: bin i holds [2^i, 2^(i+1)) bytes; the last one all above */
    WT_ATTACH_DELAYS = 400, /* ticks inside the application, log-linear: see wt_attach_delay_bin */
    WT_ATTACH_REFUSAL = 256,
    WT_ATTACH_LEASE_MS = 2000, /* a lease that ends further ahead is none: nobody forgets one for days */
};

/* Modes, a set of bits. Without WT_ATTACH_COUNTS nothing is wrapped: the probe is absent. */
enum {
    WT_ATTACH_COUNTS = 1,  /* calls, packets and bursts */
    WT_ATTACH_TIMED = 2,   /* turns of a thread, split into driver rx, application and driver tx */
    WT_ATTACH_SIZED = 4,   /* lengths of one packet a timed turn */
    WT_ATTACH_LATENCY = 8, /* one packet at a time is met again at tx */
    WT_ATTACH_STATS = 16,  /* rte_eth_stats_get is called at each change of phase, as DPDK's telemetry does */
};

enum wt_attach_state {
    WT_ATTACH_STARTING = 0,
    WT_ATTACH_READY = 1,   /* waits for a lease */
    WT_ATTACH_REFUSED = 2, /* `refusal` says why; nothing will be wrapped */
};

enum { WT_ATTACH_RX = 0, WT_ATTACH_TX = 1 };

/* What the observer wants. It takes effect while lease_until_ns lies in the future, and within 5 ms. */
struct wt_attach_control {
    uint32_t sequence; /* futex: the observer adds 1 after a change, and wakes it */
    uint32_t modes;
    uint64_t observer;       /* its pid in the upper half, 1 at least; 0: none. Compare-and-swap from 0 */
    uint64_t observer_start; /* field 22 of its /proc/PID/stat, so that a pid used again is told apart */
    uint64_t lease_until_ns;
    uint32_t on_us;        /* present for so long */
    uint32_t period_us;    /* of each such period; equal to on_us: all the time */
    uint32_t timed_every;  /* mean turns from one timed block of 8 turns to the next one, drawn at random */
    uint32_t delay_thread; /* kernel's thread whose receive calls are delayed, or its transmit calls if it
                              receives from no port; 0: none */
    uint32_t delay_ticks;  /* for each packet of the call; ticks x packets of a call is bounded to 1 ms */
    uint32_t fill_ticks;   /* for each call there, received or not; bounded likewise */
    uint64_t delay_until_ns;
    uint32_t interrupted_us; /* a timed turn that lasts longer was interrupted; 0: 50 */
    uint32_t reserved;
};

/* Turns of a thread that received so many packets in the call with which they began. A turn lasts from one
 * receive call to the next one; what it took in no driver is the application's. */
struct wt_attach_turns {
    uint64_t turns;
    uint64_t rx_ticks;
    uint64_t application_ticks;
    uint64_t tx_ticks;
};

struct wt_attach_channel {
    uint32_t thread; /* kernel's thread; 0: this channel and all behind it are free. Written last */
    uint16_t port;
    uint16_t queue;
    uint16_t direction;
    uint16_t lcore; /* EAL's number; 0xffff: not known */
    uint32_t asked; /* most packets that a call asked for, or handed over */
    uint64_t calls;
    uint64_t packets;                               /* received, or taken by the driver */
    uint64_t refused;                               /* tx: handed to the driver and not taken */
    uint64_t bursts[WT_ATTACH_BURSTS];              /* calls by packets: received, or handed to the driver */
    struct wt_attach_turns timed[WT_ATTACH_BURSTS]; /* rx only */
    uint64_t interrupted_turns; /* timed turns above control.interrupted_us: in no other time */
    uint64_t interrupted_ticks;
    uint64_t sized_packets;
    uint64_t sized_bytes;
    uint64_t sizes[WT_ATTACH_SIZES];
    uint64_t delays[WT_ATTACH_DELAYS]; /* rx: of packets received here that were met again at tx */
    uint64_t delays_lost;   /* watched packets that were not met within 100 ms, or with other bytes */
    uint64_t delayed_ticks; /* by control.delay_ticks and fill_ticks */
    uint32_t ended;         /* 1: its thread has ended. If no channel is free, one of these is used again */
    uint32_t reserved;
};

/* What rte_eth_stats_get says of a port, by the probe's own phase: present, or absent while a lease holds.
 * The ratio of both rates is what the probe costs this application. */
struct wt_attach_phase {
    uint64_t phases;
    uint64_t ticks;
    uint64_t rx_packets;
    uint64_t tx_packets;
};

struct wt_attach_port {
    uint32_t wrapped;   /* 1: both functions are wrapped just now */
    uint32_t attached;  /* 1: a driver's functions are there */
    uint64_t wraps;     /* times that this port was wrapped */
    uint64_t displaced; /* times that somebody else put his function in the place of ours */
    uint64_t stats_at;  /* ticks at which the next 8 were read; 0: never */
    uint64_t ipackets, opackets, ibytes, obytes, imissed, ierrors, oerrors, rx_nombuf;
    struct wt_attach_phase present;
    struct wt_attach_phase absent;
};

struct wt_attach_page {
    uint64_t magic; /* written last */
    uint32_t abi;
    uint32_t bytes;            /* of this structure */
    uint32_t state;            /* enum wt_attach_state */
    uint32_t year, month;      /* DPDK's release */
    uint32_t ports;            /* entries of rte_eth_fp_ops */
    uint32_t watcher;          /* the probe's own thread */
    uint32_t channels_refused; /* channels for which there was no room */
    char refusal[WT_ATTACH_REFUSAL];
    uint64_t present_ticks; /* all together */
    uint64_t lease_ends;    /* times that a lease ran out, or was given back */
    /* The TSC and CLOCK_MONOTONIC, read one after the other at each wake of the watcher: two pairs far apart
     * give the TSC's frequency. While clock_sequence is odd, they are being written. */
    uint64_t clock_ticks;
    uint64_t clock_ns;
    uint64_t clock_sequence;
    struct wt_attach_control control;
    struct wt_attach_port port[WT_ATTACH_PORTS];
    struct wt_attach_channel channel[WT_ATTACH_CHANNELS];
};

/* Bin of a delay: below 16 its own bin, else 16 of each power of two; the last one holds all above. */
static inline unsigned wt_attach_delay_bin(uint64_t ticks) {
    if (ticks < 16) return (unsigned)ticks;
    const unsigned power = 63u - (unsigned)__builtin_clzll(ticks);
    const unsigned bin = 16u * (power - 3u) + (unsigned)((ticks >> (power - 4u)) & 15u);
    return bin < WT_ATTACH_DELAYS ? bin : WT_ATTACH_DELAYS - 1u;
}

#endif
