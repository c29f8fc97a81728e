/* Ternary by tuple-space search (V. Srinivasan, S. Suri, G. Varghese, "Packet classification using tuple
 * space search", SIGCOMM 1999): a tuple is the rules of one mask, an exact match on the masked key. One
 * rte_hash holds all tuples, its key is the masked key and the tuple's number. Tuples are tried by falling
 * best priority, and no more once none that is left can win. */
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_malloc.h>

#include "parts/tables/library/hash.h"

enum { TUPLES_MOST = 4096 };
enum { PROBE_MOST = (WT_TERNARY_KEY_MOST + 4 + 15) / 16 * 16 };

struct tuple {
    uint32_t mask[WT_TERNARY_KEY_MOST / 4];
    uint32_t number;
    uint32_t best; /* highest priority that any of its rules has had: it is not lowered when that rule goes */
    uint32_t rules;
};

struct tss {
    struct rte_hash *rules;   /* probe -> priority << 32 | value */
    struct rte_hash *numbers; /* mask -> tuple's number */
    struct tuple *tuples;     /* by falling best */
    uint32_t count;
    uint32_t words;       /* of a key */
    uint32_t probe_bytes; /* a multiple of 16: rte_hash compares such keys fastest */
    uint64_t free_numbers[TUPLES_MOST / 64];
    uint64_t places;
};

struct probe {
    uint32_t words[PROBE_MOST / 4];
} __attribute__((aligned(16)));

static uint32_t probe_bytes(const struct wt_table_plan *plan) { return (plan->key_bytes + 4 + 15) / 16 * 16; }

static struct wt_table_plan masks_plan(const struct wt_table_plan *plan) {
    struct wt_table_plan masks = *plan;
    masks.capacity = plan->capacity < TUPLES_MOST ? plan->capacity : TUPLES_MOST;
    masks.load = 0.5;
    return masks;
}

static uint64_t tss_need(const struct wt_table_plan *plan) {
    return wt_hash_need(plan->capacity, plan->load, probe_bytes(plan)) +
           wt_hash_need(masks_plan(plan).capacity, 0.5, plan->key_bytes) +
           TUPLES_MOST * sizeof(struct tuple) + sizeof(struct tss) + (64 << 10);
}

static void tss_close(void *structure) {
    struct tss *self = structure;
    rte_hash_free(self->rules);
    rte_hash_free(self->numbers);
    rte_free(self->tuples);
    rte_free(self);
}

static int make_hashes(struct tss *self, const struct wt_method_plan *plan, const struct wt_words *words) {
    const struct wt_table_plan masks_table = masks_plan(plan->table);
    struct wt_method_plan masks = *plan;
    masks.table = &masks_table;
    snprintf(masks.name, sizeof masks.name, "%.20s.m", plan->name);
    self->rules = wt_hash_open(plan, self->probe_bytes, words);
    if (self->rules) self->numbers = wt_hash_open(&masks, plan->table->key_bytes, words);
    return self->numbers ? 0 : -1;
}

static void *tss_open(const struct wt_method_plan *plan, const struct wt_words *words) {
    struct tss *self = rte_zmalloc_socket(NULL, sizeof *self, 64, plan->socket);
    if (!self) {
        wt_say(words, "no memory");
        return NULL;
    }
    self->words = plan->table->key_bytes / 4;
    self->probe_bytes = probe_bytes(plan->table);
    self->places = wt_places(plan->table->capacity, plan->table->load);
    memset(self->free_numbers, 0xff, sizeof self->free_numbers);
    self->tuples = rte_malloc_socket(NULL, TUPLES_MOST * sizeof *self->tuples, 64, plan->socket);
    if (!self->tuples)
        wt_say(words, "%d tuples: no memory", TUPLES_MOST);
    else if (make_hashes(self, plan, words) == 0)
        return self;
    tss_close(self);
    return NULL;
}

static inline void write_probe(const struct tss *self, const struct tuple *tuple, const uint8_t *key,
                               struct probe *probe) {
    for (uint32_t i = 0; i < self->words; ++i)
        probe->words[i] = wt_load32(key + (size_t)4 * i) & tuple->mask[i];
    probe->words[self->words] = tuple->number;
    for (uint32_t i = self->words + 1; i < self->probe_bytes / 4; ++i) probe->words[i] = 0;
}

/* `count` where no rule has this mask. */
static uint32_t tuple_of(const struct tss *self, const uint8_t *mask) {
    void *data;
    if (rte_hash_lookup_data(self->numbers, mask, &data) < 0) return self->count;
    uint32_t place = 0;
    while (self->tuples[place].number != (uint32_t)(uintptr_t)data) ++place;
    return place;
}

static bool tss_find(const void *structure, const struct wt_rule *rule, uint32_t *value) {
    const struct tss *self = structure;
    const uint32_t place = tuple_of(self, rule->mask);
    if (place == self->count) return false;
    struct probe probe;
    void *data;
    write_probe(self, &self->tuples[place], rule->key, &probe);
    if (rte_hash_lookup_data(self->rules, &probe, &data) < 0) return false;
    *value = (uint32_t)(uintptr_t)data;
    return true;
}

static int new_tuple(struct tss *self, const struct wt_rule *rule, const struct wt_words *words) {
    if (self->count == TUPLES_MOST)
        return wt_say(words, "more than %d different masks: methods linear and acl have no such limit",
                      TUPLES_MOST);
    uint32_t word = 0;
    while (self->free_numbers[word] == 0) ++word;
    const uint32_t number = 64 * word + (uint32_t)__builtin_ctzll(self->free_numbers[word]);
    const int failed = rte_hash_add_key_data(self->numbers, rule->mask, (void *)(uintptr_t)number);
    if (failed) return wt_say(words, "rte_hash cannot add the mask: %s", strerror(-failed));
    self->free_numbers[word] &= self->free_numbers[word] - 1;
    struct tuple *tuple = &self->tuples[self->count++];
    *tuple = (struct tuple){.number = number};
    memcpy(tuple->mask, rule->mask, (size_t)4 * self->words);
    return 0;
}

static void drop_tuple(struct tss *self, uint32_t place) {
    struct tuple *tuple = &self->tuples[place];
    rte_hash_del_key(self->numbers, tuple->mask);
    self->free_numbers[tuple->number / 64] |= UINT64_C(1) << tuple->number % 64;
    memmove(tuple, tuple + 1, (--self->count - place) * sizeof *tuple);
}

/* Moves a tuple whose best has risen to where it belongs. */
static void raise_tuple(struct tss *self, uint32_t place, uint32_t priority) {
    struct tuple raised = self->tuples[place];
    if (raised.best >= priority) return;
    raised.best = priority;
    for (; place > 0 && self->tuples[place - 1].best < priority; --place)
        self->tuples[place] = self->tuples[place - 1];
    self->tuples[place] = raised;
}

static int put(struct tss *self, uint32_t place, const struct wt_rule *rule, const struct wt_words *words) {
    struct probe probe;
    write_probe(self, &self->tuples[place], rule->key, &probe);
    const uint64_t data = (uint64_t)rule->priority << 32 | rule->value;
    const int failed = rte_hash_add_key_data(self->rules, &probe, (void *)(uintptr_t)data);
    return failed ? wt_say(words, "rte_hash cannot add the rule: %s", strerror(-failed)) : 0;
}

static int tss_add(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct tss *self = structure;
    const uint32_t place = tuple_of(self, rule->mask);
    if (place == self->count && new_tuple(self, rule, words) != 0) return -1;
    if (put(self, place, rule, words) != 0) {
        if (self->tuples[place].rules == 0) drop_tuple(self, place);
        return -1;
    }
    ++self->tuples[place].rules;
    raise_tuple(self, place, rule->priority);
    return 0;
}

static int tss_replace(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct tss *self = structure;
    const uint32_t place = tuple_of(self, rule->mask);
    struct probe probe;
    void *data = NULL;
    write_probe(self, &self->tuples[place], rule->key, &probe);
    rte_hash_lookup_data(self->rules, &probe, &data); /* it is there */
    struct wt_rule replaced = *rule;
    replaced.priority = (uint32_t)((uintptr_t)data >> 32);
    return put(self, place, &replaced, words);
}

static int tss_remove(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct tss *self = structure;
    const uint32_t place = tuple_of(self, rule->mask);
    struct probe probe;
    write_probe(self, &self->tuples[place], rule->key, &probe);
    const int gone = rte_hash_del_key(self->rules, &probe);
    if (gone < 0) return wt_say(words, "rte_hash cannot remove the rule: %s", strerror(-gone));
    if (--self->tuples[place].rules == 0) drop_tuple(self, place);
    return 0;
}

/* Keys that this tuple may still win, as probes. What it cannot win, none after it can. */
static inline uint32_t probe_all(const struct tss *self, const struct tuple *tuple,
                                 const uint8_t *const keys[], const uint64_t best[], uint64_t *left,
                                 struct probe probes[], uint32_t who[]) {
    uint32_t asked = 0;
    for (uint64_t open = *left; open; open &= open - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(open);
        if (best[i] >> 32 >= tuple->best) {
            *left &= ~(UINT64_C(1) << i);
            continue;
        }
        write_probe(self, tuple, keys[i], &probes[asked]);
        who[asked++] = i;
    }
    return asked;
}

static uint64_t tss_bulk(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                         uint32_t values[]) {
    const struct tss *self = copy->structure;
    struct probe probes[WT_TABLE_BURST];
    const void *pointers[WT_TABLE_BURST];
    void *data[WT_TABLE_BURST];
    uint32_t who[WT_TABLE_BURST];
    uint64_t best[WT_TABLE_BURST] = {0}, left = wt_all(count), hits = 0;
    for (uint32_t i = 0; i < count; ++i) pointers[i] = &probes[i];
    for (uint32_t t = 0; t < self->count; ++t) {
        const uint32_t asked = probe_all(self, &self->tuples[t], keys, best, &left, probes, who);
        if (asked == 0) break;
        uint64_t found = 0;
        rte_hash_lookup_bulk_data(self->rules, pointers, asked, &found, data);
        for (; found; found &= found - 1) {
            const uint32_t i = (uint32_t)__builtin_ctzll(found);
            if ((uintptr_t)data[i] > best[who[i]]) best[who[i]] = (uintptr_t)data[i];
        }
    }
    for (uint32_t i = 0; i < count; ++i) {
        values[i] = (uint32_t)best[i];
        hits |= (uint64_t)(best[i] != 0) << i;
    }
    return hits;
}

static bool tss_one(const void *structure, const uint8_t *key, uint32_t *value) {
    const struct tss *self = structure;
    uint64_t best = 0;
    struct probe probe;
    void *data;
    for (uint32_t t = 0; t < self->count && best >> 32 < self->tuples[t].best; ++t) {
        write_probe(self, &self->tuples[t], key, &probe);
        if (rte_hash_lookup_data(self->rules, &probe, &data) >= 0 && (uintptr_t)data > best)
            best = (uintptr_t)data;
    }
    *value = (uint32_t)best;
    return best != 0;
}

static uint64_t tss_single(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                           uint32_t values[]) {
    return wt_one_by_one(copy, keys, count, values, tss_one);
}

static uint64_t tss_places(const void *structure) { return ((const struct tss *)structure)->places; }

static uint64_t tss_tuples(const void *structure) { return ((const struct tss *)structure)->count; }

const struct wt_method wt_tss_method = {
    .id = WT_TSS,
    .kind = WT_TERNARY,
    .name = "tss",
    .most_value = INT32_MAX - 1,
    .bulk = tss_bulk,
    .single = tss_single,
    .need = tss_need,
    .open = tss_open,
    .close = tss_close,
    .find = tss_find,
    .add = tss_add,
    .replace = tss_replace,
    .remove = tss_remove,
    .places = tss_places,
    .tuples = tss_tuples,
};
