/* DPDK calls a driver with a queue, and with no port. So each port has a wrapper of its own, which knows its
 * number. A pointer is exchanged by compare-and-swap alone: if somebody else has put another function there
 * meanwhile, his stays. A thread may be in a wrapper at any time, also after the pointer was put back: so a
 * wrapper always has a driver to call, and this library is never unloaded. */
#include "wrap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "channels.h"
#include "release.h"
#include "turns.h"

// clang-format off
#define ALL_PORTS(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) \
    X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) \
    X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) \
    X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) \
    X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) \
    X(48) X(49) X(50) X(51) X(52) X(53) X(54) X(55) \
    X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63)
// clang-format on

/* What a wrapper calls; kept when the wrapper is taken away, for threads that are still in it. */
static wt_burst drivers[WT_ATTACH_PORTS][2];
static bool wrapped[WT_ATTACH_PORTS][2];

static inline wt_burst driver_of(unsigned port, unsigned direction) {
    return __atomic_load_n(&drivers[port][direction], __ATOMIC_RELAXED);
}

#define WRAPPERS(port)                                                             \
    static uint16_t receive_##port(void *queue, void **packets, uint16_t n) {      \
        return wt_receive(queue, packets, n, driver_of(port, WT_ATTACH_RX), port); \
    }                                                                              \
    static uint16_t send_##port(void *queue, void **packets, uint16_t n) {         \
        return wt_send(queue, packets, n, driver_of(port, WT_ATTACH_TX), port);    \
    }
ALL_PORTS(WRAPPERS)

#define BOTH(port) {receive_##port, send_##port},
static const wt_burst wrappers[WT_ATTACH_PORTS][2] = {ALL_PORTS(BOTH)};

/* Functions that were looked up in the kernel's list; a process has a few drivers. */
static const void *code[64];
static unsigned codes, learnt;

static bool is_known(const void *function) {
    for (unsigned i = 0; i < codes; i++)
        if (code[i] == function) return true;
    return false;
}

/* The oldest one is forgotten if there are too many. */
static bool learn(const void *function) {
    const unsigned most = sizeof code / sizeof *code;
    if (!wt_is_code(function)) return false;
    code[learnt++ % most] = function;
    codes = learnt < most ? learnt : most;
    return true;
}

static bool exchange(unsigned port, unsigned direction, void *from, void *to) {
    return __atomic_compare_exchange_n(wt_burst_of(port, direction), &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* Wraps what stands in a port just now. Threads empty their tables first: the port may have other queues than
 * before. */
static void wrap_port(unsigned port, struct wt_attach_port *facts) {
    bool again = false;
    for (unsigned direction = WT_ATTACH_RX; direction <= WT_ATTACH_TX; direction++) {
        void *const function = __atomic_load_n(wt_burst_of(port, direction), __ATOMIC_ACQUIRE);
        if (function == (void *)wrappers[port][direction] || !is_known(function)) continue;
        __atomic_store_n(&drivers[port][direction], (wt_burst)function, __ATOMIC_RELEASE);
        __atomic_store_n(&wt_settings.generation, wt_settings.generation + 1, __ATOMIC_RELEASE);
        wrapped[port][direction] = exchange(port, direction, function, (void *)wrappers[port][direction]);
        again = again || wrapped[port][direction];
    }
    facts->wraps += again;
}

/* Whether both functions are to be wrapped, or are. To look up a new one takes ms, so it is done before the
 * first exchange. */
static const char *look_at_port(unsigned port, struct wt_attach_port *facts) {
    for (unsigned direction = WT_ATTACH_RX; direction <= WT_ATTACH_TX; direction++) {
        void *const function = __atomic_load_n(wt_burst_of(port, direction), __ATOMIC_ACQUIRE);
        if (function == (void *)wrappers[port][direction]) continue;
        if (wrapped[port][direction]) facts->displaced++;
        wrapped[port][direction] = false;
        if (!facts->attached || !function || is_known(function) || learn(function)) continue;
        static char refusal[WT_ATTACH_REFUSAL];
        snprintf(refusal, sizeof refusal,
                 "port %u has %p in place of a function, which is no address of code", port, function);
        return refusal;
    }
    return NULL;
}

const char *wt_wrap_ports(struct wt_attach_page *page) {
    for (unsigned port = 0; port < wt_release.ports; port++) {
        struct wt_attach_port *const facts = &page->port[port];
        facts->attached = wt_port_is_attached(port);
        const char *const refusal = look_at_port(port, facts);
        if (refusal) return refusal;
        if (facts->attached) wrap_port(port, facts);
        facts->wrapped = wrapped[port][WT_ATTACH_RX] && wrapped[port][WT_ATTACH_TX];
    }
    return NULL;
}

void wt_unwrap_ports(struct wt_attach_page *page) {
    for (unsigned port = 0; port < wt_release.ports; port++) {
        for (unsigned direction = WT_ATTACH_RX; direction <= WT_ATTACH_TX; direction++) {
            void *const wrapper = (void *)wrappers[port][direction];
            const bool there = __atomic_load_n(wt_burst_of(port, direction), __ATOMIC_ACQUIRE) == wrapper &&
                               exchange(port, direction, wrapper, (void *)driver_of(port, direction));
            if (wrapped[port][direction] && !there) page->port[port].displaced++;
            wrapped[port][direction] = false;
        }
        page->port[port].wrapped = 0;
    }
}
