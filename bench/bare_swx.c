/* A bare SWX pipeline on one port: what DPDK's own example does, and nothing else. The reference of
 * bench/swx.py.
 *
 *   bare_swx --codegen SPEC FILE.c        the C code that DPDK makes of the spec
 *   bare_swx EAL... -- OBJECT TABLE ENTRIES MBUFS CACHE DESCRIPTORS BURST WARMUP_MS MEASURE_MS
 *
 * The object is compiled from that code alone, without the guards of the handler swx. The port is the first
 * ethdev; packets enter and leave by its queue 0. Prints one line of JSON: packets, ticks, tsc_hz,
 * preempted_ns. */
#include <inttypes.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { INSTRUCTIONS = 1000, OUTPUTS = 4 };

static void fail(const char *what) {
    fprintf(stderr, "bare_swx: %s\n", what);
    exit(1);
}

static int codegen(const char *spec, const char *code) {
    FILE *in = fopen(spec, "r"), *out = fopen(code, "w");
    if (!in || !out) fail("cannot open spec or code");
    uint32_t line = 0;
    const char *words = "";
    if (rte_swx_pipeline_codegen(in, out, &line, &words) != 0) fail(words);
    return fclose(out);
}

static void open_port(struct rte_mempool *pool, uint16_t descriptors) {
    const struct rte_eth_conf conf = {0};
    if (rte_eth_dev_configure(0, 1, 1, &conf) != 0 ||
        rte_eth_rx_queue_setup(0, 0, descriptors, SOCKET_ID_ANY, NULL, pool) != 0 ||
        rte_eth_tx_queue_setup(0, 0, descriptors, SOCKET_ID_ANY, NULL) != 0 || rte_eth_dev_start(0) != 0)
        fail("the port does not start");
}

static struct rte_swx_pipeline *build(const char *object, unsigned burst) {
    char device[RTE_ETH_NAME_MAX_LEN], text[1024];
    rte_eth_dev_get_name_by_port(0, device);
    int at = snprintf(text, sizeof text, "mirroring slots 4 sessions 64\nport in 0 ethdev %s rxq 0 bsz %u\n",
                      device, burst);
    for (int i = 0; i < OUTPUTS; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "port out %d ethdev %s txq 0 bsz %u\n", i, device,
                       burst);
    struct rte_swx_pipeline *pipeline = NULL;
    FILE *ports = fmemopen(text, (size_t)at, "r");
    if (rte_swx_pipeline_build_from_lib(&pipeline, "bare", object, ports, 0) != 0)
        fail("the pipeline cannot be built");
    fclose(ports);
    return pipeline;
}

static void fill(struct rte_swx_pipeline *pipeline, const char *table, const char *entries) {
    struct rte_swx_ctl_pipeline *control = rte_swx_ctl_pipeline_create(pipeline);
    FILE *in = fopen(entries, "r");
    char line[1024];
    if (!control || !in) fail("no control, or no entries");
    while (fgets(line, sizeof line, in)) {
        int blank = 0;
        struct rte_swx_table_entry *entry =
            rte_swx_ctl_pipeline_table_entry_read(control, table, line, &blank);
        if (!entry && !blank) fail(line);
        if (entry && rte_swx_ctl_pipeline_table_entry_add(control, table, entry) != 0)
            fail("an entry cannot be added");
    }
    fclose(in);
    if (rte_swx_ctl_pipeline_commit(control, 1) != 0) fail("the entries cannot be committed");
}

/* ns in which this thread was preempted: runnable, while the kernel ran another thread. */
static uint64_t preempted_ns(void) {
    char path[64];
    unsigned long long ran = 0, waited = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
    FILE *in = fopen(path, "r");
    if (!in || fscanf(in, "%llu %llu", &ran, &waited) != 2) waited = 0;
    if (in) fclose(in);
    return waited;
}

static uint64_t packets_in(struct rte_swx_pipeline *pipeline) {
    struct rte_swx_port_in_stats stats;
    rte_swx_ctl_pipeline_port_in_stats_read(pipeline, 0, &stats);
    return stats.n_pkts;
}

static void loop(struct rte_swx_pipeline *pipeline, uint64_t ticks) {
    for (const uint64_t end = rte_rdtsc() + ticks; rte_rdtsc() < end;)
        rte_swx_pipeline_run(pipeline, INSTRUCTIONS);
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "--codegen") == 0) return codegen(argv[2], argv[3]);
    const int taken = rte_eal_init(argc, argv);
    if (taken < 0 || argc - taken != 10) fail("usage: see bare_swx.c");
    char **const a = argv + taken + 1;
    const unsigned cache = (unsigned)atoi(a[4]);
    struct rte_mempool *pool = rte_pktmbuf_pool_create("bare", (unsigned)atoi(a[3]), cache, 0,
                                                       RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool) fail("no pool");
    open_port(pool, (uint16_t)atoi(a[5]));
    struct rte_swx_pipeline *pipeline = build(a[0], (unsigned)atoi(a[6]));
    if (strcmp(a[1], "-") != 0) fill(pipeline, a[1], a[2]);
    const uint64_t hz = rte_get_tsc_hz();
    loop(pipeline, hz / 1000 * (uint64_t)atoi(a[7]));
    const uint64_t packets = packets_in(pipeline), delay = preempted_ns(), start = rte_rdtsc();
    loop(pipeline, hz / 1000 * (uint64_t)atoi(a[8]));
    printf("{\"packets\": %" PRIu64 ", \"ticks\": %" PRIu64 ", \"tsc_hz\": %" PRIu64
           ", \"preempted_ns\": %" PRIu64 "}\n",
           packets_in(pipeline) - packets, rte_rdtsc() - start, hz, preempted_ns() - delay);
    return 0;
}
