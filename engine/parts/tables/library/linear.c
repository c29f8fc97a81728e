/* Ternary by scanning: rules by falling priority, the first that matches wins. What a switch does that has no
 * better. */
#include <rte_malloc.h>

#include "parts/tables/library/method.h"

/* A row of `bits` is a rule's mask and then its key. */
struct linear {
    uint32_t *bits;
    uint32_t *priorities;
    uint32_t *values;
    uint64_t count, capacity;
    uint32_t words; /* of a key */
};

static uint64_t linear_need(const struct wt_table_plan *plan) {
    return plan->capacity * (2 * plan->key_bytes + 8) + (64 << 10);
}

static void linear_close(void *structure) {
    struct linear *self = structure;
    rte_free(self->bits);
    rte_free(self->priorities);
    rte_free(self->values);
    rte_free(self);
}

static void *linear_open(const struct wt_method_plan *plan, const struct wt_words *words) {
    const uint64_t capacity = plan->table->capacity;
    struct linear *self = rte_zmalloc_socket(NULL, sizeof *self, 64, plan->socket);
    if (self) {
        self->capacity = capacity;
        self->words = plan->table->key_bytes / 4;
        self->bits = rte_malloc_socket(NULL, capacity * 8 * self->words, 64, plan->socket);
        self->priorities = rte_malloc_socket(NULL, capacity * 4, 64, plan->socket);
        self->values = rte_malloc_socket(NULL, capacity * 4, 64, plan->socket);
        if (self->bits && self->priorities && self->values) return self;
        linear_close(self);
    }
    wt_say(words, "a list of %llu rules: no memory", (unsigned long long)capacity);
    return NULL;
}

static uint32_t *row(const struct linear *self, uint64_t place) {
    return self->bits + place * 2 * self->words;
}

/* `count` where it is not there. */
static uint64_t place_of(const struct linear *self, const struct wt_rule *rule) {
    const size_t bytes = (size_t)4 * self->words;
    uint64_t place = 0;
    while (place < self->count && (memcmp(row(self, place), rule->mask, bytes) != 0 ||
                                   memcmp(row(self, place) + self->words, rule->key, bytes) != 0))
        ++place;
    return place;
}

static bool linear_find(const void *structure, const struct wt_rule *rule, uint32_t *value) {
    const struct linear *self = structure;
    const uint64_t place = place_of(self, rule);
    if (place == self->count) return false;
    *value = self->values[place];
    return true;
}

/* Moves what stands from `from` on to `to`. */
static void shift(struct linear *self, uint64_t to, uint64_t from) {
    const uint64_t moved = self->count - from;
    memmove(row(self, to), row(self, from), moved * 8 * self->words);
    memmove(self->priorities + to, self->priorities + from, moved * 4);
    memmove(self->values + to, self->values + from, moved * 4);
}

static int linear_add(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct linear *self = structure;
    if (self->count == self->capacity) return wt_say(words, "the list is full");
    uint64_t low = 0, high = self->count; /* the first place of a lower priority */
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (self->priorities[middle] < rule->priority)
            high = middle;
        else
            low = middle + 1;
    }
    shift(self, low + 1, low);
    memcpy(row(self, low), rule->mask, (size_t)4 * self->words);
    memcpy(row(self, low) + self->words, rule->key, (size_t)4 * self->words);
    self->priorities[low] = rule->priority;
    self->values[low] = rule->value;
    ++self->count;
    return 0;
}

static int linear_replace(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct linear *self = structure;
    (void)words; /* it is there */
    self->values[place_of(self, rule)] = rule->value;
    return 0;
}

static int linear_remove(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct linear *self = structure;
    (void)words;
    const uint64_t place = place_of(self, rule);
    shift(self, place, place + 1);
    --self->count;
    return 0;
}

static inline uint64_t load64(const uint32_t *words) {
    uint64_t both;
    memcpy(&both, words, sizeof both);
    return both;
}

static inline __attribute__((always_inline)) uint64_t first_match(const struct linear *self,
                                                                  const uint8_t *key, uint32_t words) {
    uint32_t wanted[WT_TERNARY_KEY_MOST / 4];
    memcpy(wanted, key, (size_t)4 * words);
    const uint32_t *bits = self->bits;
    for (uint64_t place = 0; place < self->count; ++place, bits += (size_t)2 * words) {
        uint64_t unlike = 0;
        for (uint32_t i = 0; i + 1 < words; i += 2)
            unlike |= (load64(wanted + i) & load64(bits + i)) ^ load64(bits + words + i);
        if (words % 2) unlike |= (wanted[words - 1] & bits[words - 1]) ^ bits[2 * words - 1];
        if (!unlike) return place;
    }
    return self->count;
}

/* The usual widths with loops of a known length. */
static bool linear_one(const void *structure, const uint8_t *key, uint32_t *value) {
    const struct linear *self = structure;
    const uint64_t place = self->words == 4   ? first_match(self, key, 4)
                           : self->words == 1 ? first_match(self, key, 1)
                                              : first_match(self, key, self->words);
    if (place == self->count) return false;
    *value = self->values[place];
    return true;
}

/* A scan reads its rules in order: there is nothing for a burst to overlap. */
static uint64_t linear_single(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                              uint32_t values[]) {
    return wt_one_by_one(copy, keys, count, values, linear_one);
}

static uint64_t linear_bulk(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                            uint32_t values[]) {
    uint64_t hits = 0;
    for (uint32_t i = 0; i < count; ++i)
        hits |= (uint64_t)linear_one(copy->structure, keys[i], &values[i]) << i;
    return hits;
}

const struct wt_method wt_linear_method = {
    .id = WT_LINEAR,
    .kind = WT_TERNARY,
    .name = "linear",
    .most_value = INT32_MAX - 1,
    .bulk = linear_bulk,
    .single = linear_single,
    .need = linear_need,
    .open = linear_open,
    .close = linear_close,
    .find = linear_find,
    .add = linear_add,
    .replace = linear_replace,
    .remove = linear_remove,
};
