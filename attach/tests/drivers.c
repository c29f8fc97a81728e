/* Two drivers, which do the same: a port that was configured anew may have other functions than before. */
#include "drivers.h"

#include <stdlib.h>
#include <time.h>

#include "keys.h"

typedef uint16_t (*burst)(void *queue, void **packets, uint16_t count);

__thread struct lcore *self;

char rte_eth_fp_ops[PORTS][128] __attribute__((aligned(64)));
__thread unsigned per_lcore__lcore_id = 0xffffffff;

static struct key keys[] = {{"ports", 2},   {"lcores", 1}, {"burst", 0}, {"take", 64}, {"rx_us", 0},
                            {"app_us", 0},  {"tx_us", 0},  {"swap", 1},  {"other", 0}, {"bytes", 64},
                            {"control", 0}, {"sender", 0}, {NULL, 0}};

uint64_t value_of(const char *name) { return value_in(keys, name); }
bool take_key(const char *argument) { return set_key(keys, argument); }

unsigned rte_version_year(void);
unsigned rte_version_month(void);
int rte_eth_stats_get(uint16_t port, void *stats);

/* The probe asks before main() has seen its arguments, so the release is in the environment: 2211. */
static unsigned release(void) { return getenv("RELEASE") ? (unsigned)atoi(getenv("RELEASE")) : 2211; }
unsigned rte_version_year(void) { return release() / 100; }
unsigned rte_version_month(void) { return release() % 100; }

struct queue rx_queues[PORTS][LCORES], tx_queues[PORTS][LCORES];
static struct queue stopped_queue; /* for lcores that have read a function before a stop, and data after it */
void *rx_data[PORTS][QUEUES];
static void *tx_data[PORTS][QUEUES], *stopped_data[QUEUES];

void rest(uint64_t us) {
    if (us) nanosleep(&(struct timespec){.tv_nsec = (long)us * 1000}, NULL);
}

static uint16_t driver_rx(void *queue, void **packets, uint16_t most) {
    struct queue *const q = queue;
    uint16_t got = (uint16_t)(value_of("burst") ? value_of("burst") : self->next_burst++ % (MOST + 1));
    if (got > most) got = most;
    for (uint16_t i = 0; i < got; i++) {
        packets[i] = &self->mbufs[i];
        self->mbufs[i].pkt_len = (uint32_t)value_of("bytes");
        self->mbufs[i].data_len = (uint16_t)value_of("bytes");
    }
    rest(value_of("rx_us"));
    __atomic_store_n(&q->calls, q->calls + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&q->packets, q->packets + got, __ATOMIC_RELAXED);
    return got;
}

static uint16_t driver_tx(void *queue, void **packets, uint16_t count) {
    struct queue *const q = queue;
    (void)packets;
    const uint16_t sent = (uint16_t)(count < value_of("take") ? count : value_of("take"));
    rest(value_of("tx_us"));
    __atomic_store_n(&q->calls, q->calls + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&q->packets, q->packets + sent, __ATOMIC_RELAXED);
    __atomic_store_n(&q->refused, q->refused + (count - sent), __ATOMIC_RELAXED);
    return sent;
}

/* Other functions that do the same: a port that was configured anew has another driver's path. */
static uint16_t other_rx(void *queue, void **packets, uint16_t most) {
    return driver_rx(queue, packets, most);
}
static uint16_t other_tx(void *queue, void **packets, uint16_t count) {
    return driver_tx(queue, packets, count);
}
static uint16_t no_burst(void *queue, void **packets, uint16_t count) {
    (void)queue, (void)packets, (void)count;
    return 0;
}

static bool is_new(void) { return release() >= 2311; }
static void **place(unsigned port, bool tx, bool data) {
    const size_t burst_at = is_new() ? 16 : 0, data_at = is_new() ? 0 : 24;
    return (void **)(rte_eth_fp_ops[port] + (tx ? 64 : 0) + (data ? data_at : burst_at));
}
void put_entry(unsigned port, bool tx, void *function, void **data) {
    __atomic_store_n(place(port, tx, false), function, __ATOMIC_RELEASE);
    __atomic_store_n(place(port, tx, true), (void *)data, __ATOMIC_RELEASE);
}
void start_port(unsigned port, bool other) {
    put_entry(port, false, other ? (void *)other_rx : (void *)driver_rx, rx_data[port]);
    put_entry(port, true, other ? (void *)other_tx : (void *)driver_tx, tx_data[port]);
}
void stop_port(unsigned port) {
    put_entry(port, false, (void *)no_burst, stopped_data);
    put_entry(port, true, (void *)no_burst, stopped_data);
}
uint16_t call(unsigned port, bool tx, void **packets, uint16_t count) {
    const burst function = (burst)__atomic_load_n(place(port, tx, false), __ATOMIC_ACQUIRE);
    void **const data = (void **)__atomic_load_n(place(port, tx, true), __ATOMIC_ACQUIRE);
    return function(data[self->index], packets, count);
}

int rte_eth_stats_get(uint16_t port, void *stats) {
    uint64_t *const counters = stats;
    for (unsigned i = 0; i < LCORES; i++) {
        counters[0] += __atomic_load_n(&rx_queues[port][i].packets, __ATOMIC_RELAXED);
        counters[1] += __atomic_load_n(&tx_queues[port][i].packets, __ATOMIC_RELAXED);
    }
    counters[7] = 77; /* rx_nombuf: known to be the eighth */
    return 0;
}

unsigned foreign_pointers(void) {
    unsigned foreign = 0;
    for (unsigned port = 0; port < value_of("ports"); port++) {
        void *const rx = __atomic_load_n(place(port, false, false), __ATOMIC_RELAXED);
        void *const tx = __atomic_load_n(place(port, true, false), __ATOMIC_RELAXED);
        foreign += rx != (void *)driver_rx && rx != (void *)other_rx && rx != (void *)no_burst;
        foreign += tx != (void *)driver_tx && tx != (void *)other_tx && tx != (void *)no_burst;
    }
    return foreign;
}

void open_ports(void) {
    for (unsigned i = 0; i < LCORES; i++) {
        for (unsigned port = 0; port < PORTS; port++) {
            rx_data[port][i] = &rx_queues[port][i];
            tx_data[port][i] = &tx_queues[port][i];
        }
        stopped_data[i] = &stopped_queue;
    }
    for (unsigned port = 0; port < value_of("ports"); port++) start_port(port, false);
}
