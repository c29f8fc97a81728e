/* The actions of match-action tables: what becomes of a packet whose key has hit. */
#ifndef WT_HANDLERS_ACTIONS_H
#define WT_HANDLERS_ACTIONS_H

#include <rte_meter.h>
#include <stdint.h>
#include <string.h>

enum ma_action { MA_FORWARD = 0, MA_REWRITE, MA_COUNT, MA_METER, MA_DROP };

/* Of one rule. */
struct ma_counter {
    uint64_t packets, bytes;
};

/* One table's actions for one worker: counters and meters are its own, so that no two cores write to one
 * line. */
struct ma_actions {
    uint32_t kind; /* enum ma_action */
    uint32_t entry_bytes;
    uint64_t entries;
    const uint32_t *data; /* MA_REWRITE: of a rule, the last four bytes of the source MAC; shared */
    struct ma_counter *counters;
    struct rte_meter_trtcm *meters;
    struct rte_meter_trtcm_profile profile;
    uint64_t colours[RTE_COLORS];
};

/* Offsets of IPv4, and of IPv6 */
enum { MA_IP_TTL = 8, MA_IP_CHECKSUM = 10, MA_IPV6_HOP_LIMIT = 7 };

static inline int ma_is_ipv6(const uint8_t *ip) { return ip[0] >> 4 == 6; }

/* Where the action will look for a rule's data; NULL where it needs none. */
static inline const void *ma_action_data(const struct ma_actions *a, uint64_t rule) {
    switch (a->kind) {
        case MA_REWRITE: return a->data + rule;
        case MA_COUNT: return a->counters + rule;
        case MA_METER: return a->meters + rule;
        default: return NULL;  // NOLINT(modernize-use-nullptr): this header is C, too
    }
}

/* A router's rewrite: a source MAC of the rule's own, one hop less. 0 where the packet has no hop left. The
 * MAC is written where the destination's is: the deparser turns the two round. */
static inline int ma_rewrite(const struct ma_actions *a, uint64_t rule, uint8_t *ethernet, uint8_t *ip) {
    const uint32_t last = __builtin_bswap32(a->data[rule]);
    uint8_t *hops = ip + (__builtin_expect(ma_is_ipv6(ip), 0) ? MA_IPV6_HOP_LIMIT : MA_IP_TTL);
    if (*hops <= 1) return 0;
    --*hops;
    ethernet[0] = 0x02; /* a locally administered station */
    ethernet[1] = 0;
    memcpy(ethernet + 2, &last, sizeof last);
    return 1;
}

/* Two rates, three colours (RFC 2698, colour-blind). 0: red. */
static inline int ma_meter(struct ma_actions *a, uint64_t rule, uint32_t bytes, uint64_t now) {
    const enum rte_color colour =
        rte_meter_trtcm_color_blind_check(a->meters + rule, &a->profile, now, bytes);
    a->colours[colour]++;
    return colour != RTE_COLOR_RED;
}

/* What a hit does; 0: the packet is dropped. `rewritten` is set where the IPv4 header has another checksum
 * now. */
static inline int ma_act(struct ma_actions *a, uint64_t rule, uint8_t *ethernet, uint8_t *ip, uint32_t bytes,
                         uint64_t now, uint8_t *rewritten) {
    switch (a->kind) {
        case MA_FORWARD: return 1;
        case MA_REWRITE: return *rewritten = 1, ma_rewrite(a, rule, ethernet, ip);
        case MA_COUNT: return a->counters[rule].packets++, a->counters[rule].bytes += bytes, 1;
        case MA_METER: return ma_meter(a, rule, bytes, now);
        default: return 0;
    }
}

#endif
