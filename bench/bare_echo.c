/* What an RPC echo over six stages costs at the least: the reference of bench/six_stages.py.
 *
 * The same allocations, ring hops, port bursts, copies, header writes, checksums and frees as the engine's
 * six stages with `l_app` on a ring wire, in the order of its loop, and nothing more: no parsing, no
 * matching, no counting, no choice of anything. With one worker lcore both sides share it; with two, the
 * first is the server.
 *
 * Prints one JSON object: for each worker the round trips, the TSC ticks that they took, the time in which
 * the thread was preempted there, and the round trips since its start, warm-up included.
 */
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_ring.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "bare_frame.h"
#include "bare_options.h"

enum { BODY_MOST = 2048, BURST_MOST = 1024, AHEAD = 4 };
enum phase { WARM_UP, MEASURE, STOP };

struct side {
    uint16_t port;
    struct rte_ring *to_application, *to_dispatcher;
    struct rte_mbuf *burst[BURST_MOST];
    uint64_t packets; /* received */
    uint16_t bad;     /* not 0: a checksum did not hold */
};

struct worker {
    struct side *server, *client; /* null: the other worker has it */
    uint64_t ticks, packets;      /* of the measurement; packets of the client where it is here */
    uint64_t since_start;         /* packets, likewise */
    _Atomic pid_t tid;
};

static struct bare_options options;
static struct bare_flow flow;
static struct rte_mempool *pool;
static uint8_t pattern[BODY_MOST];
static uint32_t in_flight; /* of the client */
static _Atomic int phase = WARM_UP;

static inline uint8_t *frame_of(struct rte_mbuf *m) { return rte_pktmbuf_mtod(m, uint8_t *); }

static inline uint8_t *body_of(struct rte_mbuf *m) {
    return frame_of(m) + BARE_HEADERS + options.payload - options.body;
}

/* One hand-over between dispatcher and application: in, and out again. */
static inline uint32_t hop(struct rte_ring *ring, struct rte_mbuf **burst, uint32_t count) {
    if (rte_ring_sp_enqueue_burst(ring, (void **)burst, count, NULL) != count) rte_panic("a ring is full\n");
    return rte_ring_sc_dequeue_burst(ring, (void **)burst, options.burst, NULL);
}

static inline void transmit(struct side *s, uint32_t count) {
    if (rte_eth_tx_burst(s->port, 0, s->burst, (uint16_t)count) != count) rte_panic("the wire is full\n");
}

static inline uint32_t receive(struct side *s) {
    const uint32_t count = rte_eth_rx_burst(s->port, 0, s->burst, (uint16_t)options.burst);
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) rte_prefetch0(frame_of(s->burst[i + AHEAD]));
        s->bad |= bare_verify(frame_of(s->burst[i]), options.payload);
    }
    s->packets += count;
    return count;
}

/* Reads every byte of the request and writes every byte of the response with what it found. */
static inline void response(uint8_t *body) {
    two_words sums[4] = {{0}}, two;
    uint32_t at = 0;
    while (at + sizeof sums <= options.body) {
        for (int i = 0; i < 4; i++, at += sizeof two) {
            memcpy(&two, body + at, sizeof two);
            sums[i] ^= two;
        }
    }
    const two_words sum = (sums[0] ^ sums[1]) ^ (sums[2] ^ sums[3]);
    uint64_t word = sum[0] ^ sum[1];
    for (; at + sizeof word <= options.body; at += sizeof word) word ^= load64(body + at);
    /* the tail with the bytes before it: a body has at least one word */
    word ^= load64(body + options.body - sizeof word);
    two = (two_words){word, word};
    for (at = 0; at + sizeof two <= options.body; at += sizeof two) memcpy(body + at, &two, sizeof two);
    if (at + sizeof word <= options.body) memcpy(body + at, &word, sizeof word);
    memcpy(body + options.body - sizeof word, &word, sizeof word);
}

static inline void server_turn(struct side *s) {
    uint32_t count = receive(s);
    if (count == 0) return;
    count = hop(s->to_application, s->burst, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) rte_prefetch0(body_of(s->burst[i + AHEAD]));
        response(body_of(s->burst[i]));
    }
    count = hop(s->to_dispatcher, s->burst, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) rte_prefetch0(frame_of(s->burst[i + AHEAD]));
        bare_turn(frame_of(s->burst[i]), &flow, options.payload);
    }
    transmit(s, count);
}

static inline void client_turn(struct side *s) {
    uint32_t count = receive(s);
    if (count > 0) {
        count = hop(s->to_application, s->burst, count);
        rte_pktmbuf_free_bulk(s->burst, count);
        in_flight -= count;
    }
    count = RTE_MIN(options.burst, options.inflight - in_flight);
    if (count == 0) return;
    if (rte_pktmbuf_alloc_bulk(pool, s->burst, count) != 0) rte_panic("the pool is empty\n");
    for (uint32_t i = 0; i < count; i++) {
        struct rte_mbuf *m = s->burst[i];
        rte_memcpy(body_of(m), pattern, options.body);
        m->data_len = (uint16_t)(BARE_HEADERS + options.payload);
        m->pkt_len = m->data_len;
    }
    count = hop(s->to_dispatcher, s->burst, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) rte_prefetch0(frame_of(s->burst[i + AHEAD]));
        bare_write(frame_of(s->burst[i]), &flow, options.payload);
    }
    transmit(s, count);
    in_flight += count;
}

static inline void turn_until_phase_ends(struct worker *w, int now) {
    while (atomic_load_explicit(&phase, memory_order_relaxed) == now) {
        if (w->server != NULL) server_turn(w->server);
        if (w->client != NULL) client_turn(w->client);
    }
}

static int worker_main(void *argument) {
    struct worker *w = argument;
    const struct side *counted = w->client != NULL ? w->client : w->server;
    w->tid = gettid();
    turn_until_phase_ends(w, WARM_UP);
    const uint64_t start = rte_rdtsc(), before = counted->packets;
    turn_until_phase_ends(w, MEASURE);
    w->ticks = rte_rdtsc() - start;
    w->packets = counted->packets - before;
    w->since_start = counted->packets;
    return 0;
}

/* Time in which a thread was runnable and another one ran, ns; -1: the kernel does not say. */
static int64_t preempted_ns(const struct worker *w) {
    char path[64];
    long long delay = -1;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", (int)w->tid);
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    if (fscanf(file, "%*d %lld", &delay) != 1) delay = -1;
    fclose(file);
    return delay;
}

static struct rte_ring *ring(const char *name, uint32_t size, unsigned flags) {
    struct rte_ring *r = rte_ring_create(name, size, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ | flags);
    if (r == NULL) rte_exit(1, "bare_echo: no ring %s of %u\n", name, size);
    return r;
}

static void open_side(struct side *s, const char *name, struct rte_ring *in, struct rte_ring *out) {
    char ring_name[RTE_RING_NAMESIZE];
    snprintf(ring_name, sizeof ring_name, "%s_up", name);
    s->to_application = ring(ring_name, options.ring, 0);
    snprintf(ring_name, sizeof ring_name, "%s_down", name);
    s->to_dispatcher = ring(ring_name, options.ring, 0);
    const int port = rte_eth_from_rings(name, &in, 1, &out, 1, rte_socket_id());
    const struct rte_eth_conf conf = {0};
    const uint16_t descriptors = (uint16_t)options.descriptors;
    s->port = (uint16_t)port;
    if (port < 0 || rte_eth_dev_configure(s->port, 1, 1, &conf) != 0 ||
        rte_eth_rx_queue_setup(s->port, 0, descriptors, SOCKET_ID_ANY, NULL, pool) != 0 ||
        rte_eth_tx_queue_setup(s->port, 0, descriptors, SOCKET_ID_ANY, NULL) != 0 ||
        rte_eth_dev_start(s->port) != 0)
        rte_exit(1, "bare_echo: no ring port %s\n", name);
}

static void print(const struct worker *workers, const int64_t *delays, uint32_t count) {
    printf("{\"tsc_hz\": %lu, \"workers\": [", rte_get_tsc_hz());
    for (uint32_t i = 0; i < count; i++) {
        const struct worker *w = &workers[i];
        printf(
            "%s{\"sides\": \"%s\", \"round_trips\": %lu, \"since_start\": %lu, \"ticks\": %lu, "
            "\"preempted_ns\": ",
            i ? ", " : "",
            w->server == NULL   ? "client"
            : w->client == NULL ? "server"
                                : "both",
            w->packets, w->since_start, w->ticks);
        if (delays[i] < 0)
            printf("null}");
        else
            printf("%ld}", delays[i]);
    }
    printf("]}\n");
}

int main(int argc, char **argv) {
    const int used = rte_eal_init(argc, argv);
    if (used < 0) rte_exit(1, "bare_echo: EAL does not start\n");
    options = bare_options_read(argc - used, argv + used);
    if (options.body > BODY_MOST) rte_exit(2, "bare_echo: --body is at most %d\n", BODY_MOST);
    for (uint32_t i = 0; i < options.body; i++) pattern[i] = (uint8_t)(i * 167 + 13);
    flow = bare_flow_of();
    pool = rte_pktmbuf_pool_create_by_ops("bare", options.mbufs, options.cache, 0,
                                          (uint16_t)options.data_room, (int)rte_socket_id(), options.ops);
    if (pool == NULL) rte_exit(1, "bare_echo: no pool of %u mbufs\n", options.mbufs);

    static struct side server, client;
    struct rte_ring *to_server = ring("to_server", options.descriptors, RING_F_EXACT_SZ);
    struct rte_ring *to_client = ring("to_client", options.descriptors, RING_F_EXACT_SZ);
    open_side(&server, "server", to_server, to_client);
    open_side(&client, "client", to_client, to_server);

    const uint32_t count = rte_lcore_count() - 1;
    struct worker workers[2] = {{.server = &server, .client = count == 1 ? &client : NULL},
                                {.client = &client}};
    if (count != 1 && count != 2) rte_exit(2, "bare_echo: one or two worker lcores, not %u\n", count);
    uint32_t lcore, next = 0;
    RTE_LCORE_FOREACH_WORKER(lcore) rte_eal_remote_launch(worker_main, &workers[next++], lcore);
    int64_t delays[2] = {0};
    usleep(options.warmup_ms * 1000);
    for (uint32_t i = 0; i < count; i++) delays[i] = preempted_ns(&workers[i]);
    phase = MEASURE;
    usleep(options.measure_ms * 1000);
    for (uint32_t i = 0; i < count; i++)
        delays[i] = delays[i] < 0 ? -1 : preempted_ns(&workers[i]) - delays[i];
    phase = STOP;
    rte_eal_mp_wait_lcore();
    if (server.bad != 0 || client.bad != 0) rte_exit(1, "bare_echo: a checksum did not hold\n");
    print(workers, delays, count);
    rte_eal_cleanup();
    return 0;
}
