/* Rules of a table: made by a generator with a seed, or read from a file, and checked in both cases.
 *
 * Generated rules are a function of their number: rule i of a generator is always the same,
 * and any number beyond those in the table gives a rule that is not in it. So keys that hit or miss are drawn
 * without a list (keys.h), and a list of 10^7 keys is in nobody's cache. */
#ifndef WT_TABLES_RULES_H
#define WT_TABLES_RULES_H

#include <stdbool.h>

#include "core/scatter.h"
#include "parts/tables/library/table_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flat lists: 10^7 rules are 10^7 x (key_bytes + 4) bytes. */
struct wt_rules {
    uint32_t kind; /* enum wt_table_kind */
    uint32_t key_bytes;
    uint64_t count;
    uint8_t *keys;        /* count x key_bytes */
    uint8_t *masks;       /* WT_TERNARY: count x key_bytes; else NULL */
    uint8_t *lengths;     /* WT_LPM: count; else NULL */
    uint32_t *priorities; /* WT_TERNARY: count; else NULL */
    uint32_t *values;     /* count */
    /* Where they stand, for words: the file, and a line of it for each rule; NULL: a generator made them */
    char *source;
    uint32_t *lines; /* count */
};

static inline struct wt_rule wt_rules_at(const struct wt_rules *rules, uint64_t i) {
    struct wt_rule rule;
    rule.key = rules->keys + i * rules->key_bytes;
    rule.mask = rules->masks;
    if (rule.mask) rule.mask += i * rules->key_bytes;
    rule.length = rules->lengths ? rules->lengths[i] : 0;
    rule.priority = rules->priorities ? rules->priorities[i] : 0;
    rule.value = rules->values[i];
    return rule;
}

void wt_rules_close(struct wt_rules *rules);

/* Room for `count` rules in one list each; 0, or -1 with words in `error` where this machine does not have
 * memory. */
int wt_rules_open(struct wt_rules *rules, uint32_t kind, uint32_t key_bytes, uint64_t count, char *error,
                  size_t error_size);

/* Two rules with the same key and the same mask or length: true, and their numbers in `pair`. */
bool wt_rules_clash(const struct wt_rules *rules, uint64_t pair[2]);

/* Whether one rule is well formed. Returns 0, or -1 with words in `error`: bits outside its mask or prefix, a
 * length or a priority that there is not. */
int wt_rule_check(uint32_t kind, uint32_t key_bytes, const struct wt_rule *rule, char *error,
                  size_t error_size);

/* Reads a text of one rule a line; '#' begins a comment, empty lines are passed over. KEY and MASK are
 * hexadecimal, two digits a byte, VALUE is decimal:
 *
 *     exact    KEY,VALUE             0a000001c0a80001,7
 *     LPM      a.b.c.d/LENGTH,VALUE  10.0.0.0/8,7        2001:db8::/32,7 where keys have 16 bytes
 *     ternary  KEY/MASK,VALUE        0a000000/ff000000,7   the first line has the highest priority
 *
 * A text that was made of another begins with the line `from FILE`, and each rule ends with `,LINE`: what is
 * wrong with it is said of that line there.
 *
 * Returns 0, or -1 with file:line and words in `error`: what is no rule, bits outside its prefix or mask, a
 * key that a line before has, more memory than there is. */
int wt_rules_read(const char *path, uint32_t kind, uint32_t key_bytes, struct wt_rules *rules, char *error,
                  size_t error_size);

enum { WT_MASKS_MOST = 256 };

enum wt_prefixes {
    WT_PREFIXES_24 = 0,    /* all of 24 bits, of IPv6 48, none in another */
    WT_PREFIXES_MIXED = 1, /* 16 to 28 bits, of IPv6 40 to 52, every second inside the one before it */
};

struct wt_generator {
    uint32_t kind; /* enum wt_table_kind */
    uint32_t key_bytes;
    uint32_t prefixes; /* WT_LPM: enum wt_prefixes */
    uint32_t masks;    /* WT_TERNARY: how many different masks: 1, or an even number up to WT_MASKS_MOST */
    uint64_t count;    /* rules in the table */
    uint64_t seed;
    uint64_t most;             /* rules that there could be: `count` and more, for misses and changes */
    struct wt_scatter scatter; /* of all keys: WT_EXACT with 4 bytes, WT_PREFIXES_24 */
    uint16_t combinations[WT_MASKS_MOST /
                          2]; /* WT_TERNARY: lengths of each pair of masks, see generator_ternary.c */
};

/* Returns 0, or -1 with words in `error`: more rules than there are keys, prefixes or masks of such a kind.
 * `masks` and `prefixes` are looked at for their kind alone. */
int wt_generator_open(struct wt_generator *generator, uint32_t kind, uint32_t key_bytes, uint64_t count,
                      uint32_t prefixes, uint32_t masks, uint64_t seed, char *error, size_t error_size);

/* Rule i, 0 to most - 1. `key` and `mask` are room for key_bytes each, which the rule points to. Its value is
 * i. */
struct wt_rule wt_generated_rule(const struct wt_generator *generator, uint64_t i, uint8_t *key,
                                 uint8_t *mask);

/* A key whose best rule is rule i as long as rule i is in the table: bits that the rule leaves open are
 * drawn. */
void wt_generated_key(const struct wt_generator *generator, uint64_t i, uint64_t *random, uint8_t *key);

/* Rules 0 to count - 1 as a list. Returns 0, or -1 with words in `error`: no memory. */
int wt_rules_generate(const struct wt_generator *generator, struct wt_rules *rules, char *error,
                      size_t error_size);

#ifdef __cplusplus
}
#endif
#endif
