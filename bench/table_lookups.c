/* Lookups through tables/table.h beside the bare call of the DPDK library on the very same structure, in
 * turns of a block of keys. What bench/lookups.py runs.
 *
 *   table_lookups EAL... -- METHOD ENTRIES REFERENCE BURST TURN_US
 *
 * METHOD: hash, fib, lpm, acl, linear, tss. REFERENCE: "bare", or a method of the same kind with the same
 * rules. All keys hit, drawn uniformly; first all responses are compared. Then each line on stdin, a number
 * of milliseconds, is a round; the response is a line of JSON. */
#include <fcntl.h>
#include <inttypes.h>
#include <rte_acl.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_fib.h>
#include <rte_hash.h>
#include <rte_lpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/random.h"
#include "parts/tables/library/keys.h"
#include "parts/tables/library/method.h"
#include "parts/tables/library/table.h"

enum { KEYS_LEAST = 1 << 16, MASKS = 32, SEED = 20 };

static const struct wt_method *const methods[] = {&wt_hash_method, &wt_fib_method,    &wt_lpm_method,
                                                  &wt_acl_method,  &wt_linear_method, &wt_tss_method};

/* A contestant: looks a burst up and adds the values to a sum, so that nothing is left out. */
struct contestant {
    uint64_t (*burst)(const struct contestant *self, const uint8_t *const keys[], uint32_t count);
    struct wt_table_reader reader;
    uint64_t lookups, ticks, preempted_ns;
};

struct keys {
    uint8_t *bytes;
    uint64_t count, next;
    uint32_t width;
};

static void fail(const char *what) {
    fprintf(stderr, "table_lookups: %s\n", what);
    exit(1);
}

static uint64_t ours(const struct contestant *self, const uint8_t *const keys[], uint32_t count) {
    uint32_t values[WT_TABLE_BURST];
    uint64_t sum = 0;
    const uint64_t hits = wt_table_lookup(&self->reader, keys, count, values);
    for (uint32_t i = 0; i < count; i++) sum += values[i];
    return sum + hits;
}

static uint64_t bare_hash(const struct contestant *self, const uint8_t *const keys[], uint32_t count) {
    void *data[WT_TABLE_BURST];
    uint64_t sum = 0, hits = 0;
    rte_hash_lookup_bulk_data(self->reader.copy->structure, (const void **)(uintptr_t)keys, count, &hits,
                              data);
    for (uint32_t i = 0; i < count; i++) sum += (uintptr_t)data[i];
    return sum + hits;
}

/* With what rte_fib and rte_lpm ask of everyone: addresses in the host's order, in a list. */
static uint64_t bare_fib(const struct contestant *self, const uint8_t *const keys[], uint32_t count) {
    uint32_t addresses[WT_TABLE_BURST];
    uint64_t next_hops[WT_TABLE_BURST], sum = 0;
    for (uint32_t i = 0; i < count; i++) addresses[i] = wt_address(keys[i]);
    rte_fib_lookup_bulk(self->reader.copy->structure, addresses, next_hops, (int)count);
    for (uint32_t i = 0; i < count; i++) sum += next_hops[i];
    return sum + wt_all(count);
}

static uint64_t bare_lpm(const struct contestant *self, const uint8_t *const keys[], uint32_t count) {
    uint32_t addresses[WT_TABLE_BURST], next_hops[WT_TABLE_BURST];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) addresses[i] = wt_address(keys[i]);
    rte_lpm_lookup_bulk((struct rte_lpm *)self->reader.copy->structure, addresses, next_hops, count);
    for (uint32_t i = 0; i < count; i++) sum += next_hops[i] & 0xffffff;
    return sum + wt_all(count);
}

/* The structure's first word is the tries: an external caller would hold them itself. */
static uint64_t bare_acl(const struct contestant *self, const uint8_t *const keys[], uint32_t count) {
    uint32_t results[WT_TABLE_BURST];
    uint64_t sum = 0;
    struct rte_acl_ctx *const tries = *(struct rte_acl_ctx *const *)self->reader.copy->structure;
    rte_acl_classify(tries, (const uint8_t **)(uintptr_t)keys, results, count, 1);
    for (uint32_t i = 0; i < count; i++) sum += results[i] - 1;
    return sum + wt_all(count);
}

static const struct wt_method *method_of(const char *name) {
    for (unsigned i = 0; i < RTE_DIM(methods); i++)
        if (strcmp(methods[i]->name, name) == 0) return methods[i];
    fail("no such method");
    return NULL;
}

static void open_ours(struct contestant *self, const struct wt_method *method, const struct wt_rules *rules) {
    char error[256];
    const struct wt_table_plan plan = {.name = method->name,
                                       .kind = method->kind,
                                       .method = method->id,
                                       .key_bytes = rules->key_bytes,
                                       .numa_socket = -1,
                                       .capacity = rules->count,
                                       .load = 0.5,
                                       .seed = SEED};
    struct wt_table *table = wt_table_open(&plan, rules, error, sizeof error);
    if (!table || wt_table_reader_open(table, &self->reader) != 0) fail(error);
    self->burst = ours;
}

static void open_reference(struct contestant *self, const char *name, const struct contestant *beside,
                           const struct wt_method *method, const struct wt_rules *rules) {
    if (strcmp(name, "bare") != 0) {
        open_ours(self, method_of(name), rules);
        return;
    }
    self->reader = beside->reader;
    switch (method->id) {
        case WT_HASH: self->burst = bare_hash; break;
        case WT_FIB: self->burst = bare_fib; break;
        case WT_LPM_LIST: self->burst = bare_lpm; break;
        case WT_ACL: self->burst = bare_acl; break;
        default: fail("DPDK has no such library");
    }
}

static struct keys draw(const struct wt_generator *generator) {
    char error[256];
    struct wt_keys drawn;
    struct keys keys = {.count = generator->count, .width = generator->key_bytes};
    if (keys.count < KEYS_LEAST) keys.count = KEYS_LEAST;
    keys.bytes = malloc(keys.count * keys.width);
    if (!keys.bytes || wt_keys_of_generator(&drawn, generator, 1, WT_UNIFORM, 1, error, sizeof error) != 0)
        fail("no keys");
    uint64_t random = SEED;
    for (uint64_t i = 0; i < keys.count; i++) wt_keys_draw(&drawn, &random, keys.bytes + i * keys.width);
    return keys;
}

/* ns in which this thread was preempted: runnable, while the kernel ran another thread. */
static uint64_t preempted_ns(int schedstat) {
    char text[64] = "";
    unsigned long long ran = 0, waited = 0;
    if (schedstat < 0 || pread(schedstat, text, sizeof text - 1, 0) <= 0) return 0;
    return sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

static uint64_t one_burst(struct contestant *self, struct keys *keys, uint32_t burst) {
    const uint8_t *pointers[WT_TABLE_BURST];
    if (keys->next + burst > keys->count) keys->next = 0;
    for (uint32_t i = 0; i < burst; i++) pointers[i] = keys->bytes + (keys->next + i) * keys->width;
    keys->next += burst;
    self->lookups += burst;
    return self->burst(self, pointers, burst);
}

/* What is found is wanted, as far as the compiler knows. */
static void keep(uint64_t value) { __asm__ volatile("" : : "r"(value)); }

/* A turn: the keys go round, so that neither finds the other's lookups in the caches. The clock is read
 * every 16 bursts. */
static uint64_t turn(struct contestant *self, struct keys *keys, uint32_t burst, uint64_t ticks,
                     int schedstat) {
    uint64_t sum = 0, now;
    const uint64_t delay = preempted_ns(schedstat), start = rte_rdtsc();
    do {
        for (int i = 0; i < 16; i++) sum += one_burst(self, keys, burst);
        now = rte_rdtsc();
    } while (now - start < ticks);
    self->ticks += now - start;
    self->preempted_ns += preempted_ns(schedstat) - delay;
    return sum;
}

static void compare(struct contestant two[2], struct keys *keys, uint32_t burst) {
    for (uint64_t from = 0; from + burst <= keys->count; from += burst) {
        uint64_t sums[2];
        for (int i = 0; i < 2; i++) {
            keys->next = from;
            sums[i] = one_burst(&two[i], keys, burst);
        }
        if (sums[0] != sums[1]) fail("the two do not agree");
    }
}

static void print(const char *name, const struct contestant *self, const char *end) {
    printf("\"%s\": {\"lookups\": %" PRIu64 ", \"ticks\": %" PRIu64 ", \"preempted_ns\": %" PRIu64 "}%s",
           name, self->lookups, self->ticks, self->preempted_ns, end);
}

int main(int argc, char **argv) {
    const int taken = rte_eal_init(argc, argv);
    if (taken < 0 || argc - taken != 6) fail("usage: see table_lookups.c");
    char **const a = argv + taken + 1;
    const struct wt_method *const method = method_of(a[0]);
    const uint32_t burst = (uint32_t)atoi(a[3]);
    const uint64_t turn_us = strtoull(a[4], NULL, 10);
    if (burst < 1 || burst > WT_TABLE_BURST) fail("a burst is 1 to 64 keys");
    struct wt_generator generator;
    struct wt_rules rules;
    char error[256];
    if (wt_generator_open(&generator, method->kind, method->kind == WT_LPM ? 4 : 16, strtoull(a[1], NULL, 10),
                          WT_PREFIXES_24, MASKS, SEED, error, sizeof error) != 0 ||
        wt_rules_generate(&generator, &rules, error, sizeof error) != 0)
        fail(error);
    struct keys keys = draw(&generator);
    struct contestant two[2] = {0};
    open_ours(&two[0], method, &rules);
    open_reference(&two[1], a[2], &two[0], method, &rules);
    wt_rules_close(&rules);
    compare(two, &keys, burst);

    char path[64], line[32];
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
    const int schedstat = open(path, O_RDONLY);
    const uint64_t hz = rte_get_tsc_hz();
    while (fgets(line, sizeof line, stdin)) {
        for (int i = 0; i < 2; i++) two[i].lookups = two[i].ticks = two[i].preempted_ns = 0;
        const uint64_t end = rte_rdtsc() + hz / 1000 * strtoull(line, NULL, 10);
        do
            for (int i = 0; i < 2; i++) keep(turn(&two[i], &keys, burst, hz / 1000000 * turn_us, schedstat));
        while (rte_rdtsc() < end);
        printf("{\"tsc_hz\": %" PRIu64 ", ", hz);
        print("ours", &two[0], ", ");
        print("reference", &two[1], "}\n");
        fflush(stdout);
    }
    return 0;
}
