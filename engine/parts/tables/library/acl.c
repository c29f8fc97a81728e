/* Ternary by rte_acl: rules become tries over the bytes of the key. A trie cannot be changed, so the rules
 * stand in a list beside it and every commit builds a new one. */
#include <rte_acl.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "parts/tables/library/method.h"

enum { ACL_FIELDS_MOST = 1 + WT_TERNARY_KEY_MOST / 4 };

struct acl {
    struct rte_acl_ctx *tries; /* NULL: no rule */
    uint8_t *rules;            /* in rte_acl's form, count x row */
    uint64_t count, capacity;
    uint32_t row;    /* bytes */
    uint32_t fields; /* of a rule: words of the key, and one */
    uint32_t builds; /* that `tries` have seen */
    int socket;
    char name[24];
};

/* Measured with the generator's masks, 16-byte keys: 0.6 KiB of tries a rule. */
static uint64_t acl_need(const struct wt_table_plan *plan) {
    return plan->capacity * (RTE_ACL_RULE_SZ(ACL_FIELDS_MOST) * 2 + 3072) + (1 << 20);
}

static void acl_close(void *structure) {
    struct acl *self = structure;
    rte_acl_free(self->tries);
    rte_free(self->rules);
    rte_free(self);
}

static void *acl_open(const struct wt_method_plan *plan, const struct wt_words *words) {
    struct acl *self = rte_zmalloc_socket(NULL, sizeof *self, 64, plan->socket);
    if (self) {
        self->fields = 1 + plan->table->key_bytes / 4;
        self->row = RTE_ACL_RULE_SZ(self->fields);
        self->capacity = plan->table->capacity;
        self->socket = plan->socket;
        snprintf(self->name, sizeof self->name, "%s", plan->name);
        self->rules = rte_malloc_socket(NULL, self->capacity * self->row, 64, plan->socket);
        if (self->rules) return self;
        acl_close(self);
    }
    wt_say(words, "a list of %llu rules: no memory", (unsigned long long)plan->table->capacity);
    return NULL;
}

static struct rte_acl_rule *rule_at(const struct acl *self, uint64_t place) {
    return (struct rte_acl_rule *)(self->rules + place * self->row);
}

/* rte_acl wants a first field of one byte: a wildcard. Then the key, word by word in the host's order. */
static void write_fields(const struct acl *self, const struct wt_rule *rule, struct rte_acl_field *fields) {
    memset(fields, 0, self->fields * sizeof *fields);
    for (uint32_t i = 1; i < self->fields; ++i) {
        fields[i].value.u32 = wt_address(rule->key + (size_t)4 * (i - 1));
        fields[i].mask_range.u32 = wt_address(rule->mask + (size_t)4 * (i - 1));
    }
}

static uint64_t place_of(const struct acl *self, const struct wt_rule *rule) {
    struct rte_acl_field fields[ACL_FIELDS_MOST];
    write_fields(self, rule, fields);
    uint64_t place = 0;
    while (place < self->count &&
           memcmp(rule_at(self, place)->field, fields, self->fields * sizeof *fields) != 0)
        ++place;
    return place;
}

/* 0 is no userdata for rte_acl: the value stands there plus one. */
static bool acl_find(const void *structure, const struct wt_rule *rule, uint32_t *value) {
    const struct acl *self = structure;
    const uint64_t place = place_of(self, rule);
    if (place == self->count) return false;
    *value = rule_at(self, place)->data.userdata - 1;
    return true;
}

static int acl_add(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct acl *self = structure;
    if (self->count == self->capacity) return wt_say(words, "the list of rules is full");
    struct rte_acl_rule *new_rule = rule_at(self, self->count++);
    memset(new_rule, 0, self->row);
    new_rule->data.category_mask = 1;
    new_rule->data.priority = (int32_t)rule->priority;
    new_rule->data.userdata = rule->value + 1;
    write_fields(self, rule, new_rule->field);
    return 0;
}

static int acl_replace(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    (void)words; /* it is there */
    rule_at(structure, place_of(structure, rule))->data.userdata = rule->value + 1;
    return 0;
}

static int acl_remove(void *structure, const struct wt_rule *rule, const struct wt_words *words) {
    struct acl *self = structure;
    (void)words;
    const uint64_t place = place_of(self, rule);
    memmove(rule_at(self, place), rule_at(self, --self->count), self->row);
    return 0;
}

static void describe(const struct acl *self, struct rte_acl_config *config) {
    *config = (struct rte_acl_config){.num_categories = 1, .num_fields = self->fields};
    config->defs[0] = (struct rte_acl_field_def){.type = RTE_ACL_FIELD_TYPE_BITMASK, .size = 1};
    for (uint32_t i = 1; i < self->fields; ++i)
        config->defs[i] = (struct rte_acl_field_def){.type = RTE_ACL_FIELD_TYPE_BITMASK,
                                                     .size = 4,
                                                     .field_index = (uint8_t)i,
                                                     .input_index = (uint8_t)i,
                                                     .offset = 4 * (i - 1)};
}

static int acl_commit(void *structure, const struct wt_words *words) {
    struct acl *self = structure;
    struct rte_acl_ctx *tries = NULL;
    if (self->count != 0) {
        char name[RTE_ACL_NAMESIZE]; /* not that of `tries`: rte_acl gives back who has a name already */
        snprintf(name, sizeof name, "%s.%u", self->name, (self->builds + 1) % 2);
        const struct rte_acl_param parameters = {.name = name,
                                                 .socket_id = self->socket,
                                                 .rule_size = self->row,
                                                 .max_rule_num = (uint32_t)self->count};
        struct rte_acl_config config;
        describe(self, &config);
        tries = rte_acl_create(&parameters);
        int failed = tries ? 0 : -rte_errno;
        if (!failed) failed = rte_acl_add_rules(tries, rule_at(self, 0), (uint32_t)self->count);
        if (!failed) failed = rte_acl_build(tries, &config);
        if (failed) {
            rte_acl_free(tries);
            return wt_say(words,
                          "rte_acl builds no tries of %llu rules: %s; it makes 8 at most: fewer masks or "
                          "rules need less, and so does method tss",
                          (unsigned long long)self->count, strerror(-failed));
        }
    }
    rte_acl_free(self->tries);
    self->tries = tries;
    ++self->builds;
    return 0;
}

static inline __attribute__((always_inline)) uint64_t classify(const struct acl *self,
                                                               const uint8_t *const keys[], uint32_t count,
                                                               uint32_t values[]) {
    uint64_t hits = 0;
    if (!self->tries) return 0;
    rte_acl_classify(self->tries, (const uint8_t **)(uintptr_t)keys, values, count, 1);
    uint32_t missed = 0; /* mostly none: see fib.c */
    for (uint32_t i = 0; i < count; ++i) missed |= values[i] == 0;
    if (missed)
        for (uint32_t i = 0; i < count; ++i) hits |= (uint64_t)(values[i] != 0) << i;
    for (uint32_t i = 0; i < count; ++i) values[i] -= 1;
    if (!missed) return wt_all(count);
    return hits;
}

static uint64_t acl_bulk(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                         uint32_t values[]) {
    return classify(copy->structure, keys, count, values);
}

static bool acl_one(const void *structure, const uint8_t *key, uint32_t *value) {
    return classify(structure, &key, 1, value);
}

static uint64_t acl_single(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                           uint32_t values[]) {
    return wt_one_by_one(copy, keys, count, values, acl_one);
}

const struct wt_method wt_acl_method = {
    .id = WT_ACL,
    .kind = WT_TERNARY,
    .name = "acl",
    .most_value = INT32_MAX - 1,
    .bulk = acl_bulk,
    .single = acl_single,
    .need = acl_need,
    .open = acl_open,
    .close = acl_close,
    .find = acl_find,
    .add = acl_add,
    .replace = acl_replace,
    .remove = acl_remove,
    .commit = acl_commit,
};
