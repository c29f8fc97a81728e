/* Generated ternary rules: each word of the key has a prefix of 0, 8, 16, 24 or 32 bits for a mask. A
 * combination of lengths is a pair of masks: the outer rules', and one with four bits more in one word, the
 * inner rules'.
 *
 * The key begins with the pair's number, one bit longer than needed, so that combinations never overlap and
 * half of all keys miss. The bits of the mask that follow are the rule's rank, scattered; what is left is the
 * same in a pair. */
#include "parts/tables/library/generator.h"

enum { LENGTHS = 5, INNER_BITS = 4, RANK_BITS_MOST = 26, RULES_MOST = 1 << 27 };

static uint32_t length_of(uint32_t combination, uint32_t word) {
    while (word-- > 0) combination /= LENGTHS;
    return combination % LENGTHS * 8;
}

/* Bits of the number that the key begins with. */
static uint32_t tag_bits(const struct wt_generator *g) {
    uint32_t bits = 1;
    while (UINT32_C(1) << (bits - 1) < (g->masks + 1) / 2) ++bits;
    return bits;
}

static uint32_t pairs_of_masks(const struct wt_generator *g) { return (g->masks + 1) / 2; }

/* Bits of a mask behind the tag; less than 0 where it has no room for the tag. */
static int rank_bits(const struct wt_generator *g, uint32_t combination) {
    const uint32_t tag = tag_bits(g);
    if (length_of(combination, 0) < tag) return -1;
    uint32_t bits = 0;
    for (uint32_t w = 0; w < g->key_bytes / 4 && w < 4; ++w) bits += length_of(combination, w);
    bits -= tag;
    return (int)(bits < RANK_BITS_MOST ? bits : RANK_BITS_MOST);
}

/* The word in which the inner mask goes on. Always one of the first four, if any. */
static uint32_t inner_word(const struct wt_generator *g, uint32_t combination) {
    uint32_t w = 0;
    while (w < g->key_bytes / 4 && w < 4 && length_of(combination, w) == 32) ++w;
    return w;
}

static bool fits(const struct wt_generator *g, uint32_t combination, uint64_t ranks) {
    const uint32_t words = g->key_bytes / 4 < 4 ? g->key_bytes / 4 : 4;
    if (g->masks > 1 && inner_word(g, combination) == words) return false;
    const int bits = rank_bits(g, combination);
    return bits >= 0 && UINT64_C(1) << bits >= ranks;
}

/* One mask alone has no inner rules. */
static uint64_t rules_a_rank(const struct wt_generator *g) {
    return g->masks == 1 ? 1 : 2 * (uint64_t)pairs_of_masks(g);
}

int wt_ternary_open(struct wt_generator *g, const struct wt_words *words) {
    if (g->masks < 1 || g->masks > WT_MASKS_MOST || (g->masks > 1 && g->masks % 2 != 0))
        return wt_say(words, "masks = %u: there are 1, or an even number up to %d", g->masks, WT_MASKS_MOST);
    uint32_t all = 1;
    for (uint32_t w = 0; w < g->key_bytes / 4 && w < 4; ++w) all *= LENGTHS;
    const uint64_t ranks = g->count / rules_a_rank(g) + 1; /* one to spare, for changes */
    const uint32_t pairs = pairs_of_masks(g);
    struct wt_scatter order;
    wt_scatter_init(&order, all);
    uint32_t found = 0;
    int bits = RANK_BITS_MOST;
    for (uint32_t i = 0; i < all && found < pairs; ++i) {
        const uint32_t combination = (uint32_t)wt_scattered(&order, (i + mix64(g->seed) % all) % all);
        if (!fits(g, combination, ranks)) continue;
        g->combinations[found++] = (uint16_t)combination;
        if (rank_bits(g, combination) < bits) bits = rank_bits(g, combination);
    }
    if (found < pairs)
        return wt_say(words, "%llu rules with keys of %u bytes have room for %u different masks, not %u",
                      (unsigned long long)g->count, g->key_bytes, 2 * found, g->masks);
    g->most = rules_a_rank(g) << bits;
    if (g->most > RULES_MOST) g->most = RULES_MOST; /* priorities count down from 2^28 */
    return 0;
}

static uint32_t prefix_mask(uint32_t length) { return length == 0 ? 0 : UINT32_MAX << (32 - length); }

/* Where rule i stands: its combination, and the outer rule's words in the host's order. */
struct place {
    uint32_t combination, pair;
    bool inner;
    uint32_t key[WT_TERNARY_KEY_MOST / 4], mask[WT_TERNARY_KEY_MOST / 4];
};

/* The mask's bits, from the first on: tag, rank, then a constant of the pair. */
static void outer_key(const struct wt_generator *g, uint64_t rank, struct place *place) {
    const int ranks = rank_bits(g, place->combination);
    struct wt_scatter scatter;
    wt_scatter_init(&scatter, UINT64_C(1) << ranks);
    const uint32_t tag = tag_bits(g), words = g->key_bytes / 4;
    const uint64_t salt = mix64(g->seed + place->pair);
    const uint64_t scattered = wt_scattered(&scatter, rank) ^ (salt & scatter.mask);
    /* 64 bits to deal out from the top: the tag's first is 0, misses have it set */
    uint64_t stream = (uint64_t)place->pair << (64 - tag);
    if (ranks > 0) stream |= scattered << (64 - tag - (uint32_t)ranks);
    const uint32_t left = 64 - tag - (uint32_t)ranks;
    stream |= mix64(salt) >> (64 - left);
    for (uint32_t w = 0; w < words; ++w) {
        const uint32_t length = w < 4 ? length_of(place->combination, w) : 0;
        place->mask[w] = prefix_mask(length);
        place->key[w] = (uint32_t)(stream >> 32) & place->mask[w];
        if (length) stream = stream << length | stream >> (64 - length);
    }
}

static void place_rule(const struct wt_generator *g, uint64_t i, struct place *place) {
    const bool paired = g->masks > 1;
    const uint64_t j = paired ? wt_pair(i) : i;
    place->pair = (uint32_t)(j % pairs_of_masks(g));
    place->combination = g->combinations[place->pair];
    place->inner = paired && i % 2;
    outer_key(g, j / pairs_of_masks(g), place);
}

/* The bits that an inner rule has set and an outer one leaves open, in `word`. */
static uint32_t inner_bits(const struct wt_generator *g, const struct place *place, uint32_t *word) {
    *word = inner_word(g, place->combination);
    const uint32_t length = length_of(place->combination, *word);
    return prefix_mask(length + INNER_BITS) & ~prefix_mask(length);
}

struct wt_rule wt_generated_ternary(const struct wt_generator *g, uint64_t i, uint8_t *key, uint8_t *mask) {
    struct place place;
    place_rule(g, i, &place);
    if (place.inner) {
        uint32_t word;
        const uint32_t bits = inner_bits(g, &place, &word);
        place.mask[word] |= bits;
        place.key[word] |= bits;
    }
    for (uint32_t w = 0; w < g->key_bytes / 4; ++w) {
        wt_store32(key + (size_t)4 * w, place.key[w]);
        wt_store32(mask + (size_t)4 * w, place.mask[w]);
    }
    /* earlier rules win, but for the pair's own two */
    const uint32_t priority = (1u << 28) - (uint32_t)(g->masks > 1 ? i ^ 1 : i);
    return (struct wt_rule){.key = key, .mask = mask, .priority = priority, .value = (uint32_t)i};
}

void wt_generated_match(const struct wt_generator *g, uint64_t i, uint64_t *random, uint8_t *key) {
    struct place place;
    place_rule(g, i, &place);
    uint32_t word = 0;
    const uint32_t inner = g->masks > 1 ? inner_bits(g, &place, &word) : 0;
    for (uint32_t w = 0; w < g->key_bytes / 4; ++w) {
        uint32_t open = (uint32_t)random_next(random) & ~place.mask[w];
        if (inner && w == word) {
            if (place.inner)
                open |= inner;
            else if ((open & inner) == inner)
                open &= ~(inner & -inner); /* not into the inner rule */
        }
        wt_store32(key + (size_t)4 * w, place.key[w] | open);
    }
}
