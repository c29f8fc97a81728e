/* The data path of `match_action`: a burst goes through one step after the other. */
#include <rte_prefetch.h>

#include "handlers/applications/swap.h"
#include "parts/tables/match_action.h"

enum { TYPE = 12, IP = 14, IP_FRAGMENT = 6, IP_ADDRESSES = 12 };
enum { IPV6_HEADER = 40, IPV6_NEXT = 6, IPV6_ADDRESSES = 8, TCP = 6, UDP = 17 };

#define LIKELY(x) __builtin_expect(!!(x), 1)

static inline uint16_t load16(const uint8_t *at) {
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t load32(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* An IPv4 header without fragment; returns its bytes, 0 where it is none. */
static inline uint32_t ipv4_bytes(const uint8_t *ip, uint32_t left) {
    if (left < 20 || ip[0] >> 4 != 4) return 0;
    const uint32_t header = (ip[0] & 0xfu) * 4;
    const uint16_t fragment = load16(ip + IP_FRAGMENT) & __builtin_bswap16(0x1fff);
    return header >= 20 && header + 8 <= left && fragment == 0 ? header : 0;
}

static inline uint32_t ipv6_bytes(const uint8_t *ip, uint32_t left) {
    return left >= IPV6_HEADER + 8 && ma_is_ipv6(ip) ? IPV6_HEADER : 0;
}

/* Of others' packets those of TCP and UDP without extension headers: neighbour discovery is ICMP, and passed
 * on to the engine's own parser, as ARP is. In our own frames the next header may be a part of a key. */
static inline int is_for_pipeline(const struct ma_pipeline *p, const uint8_t *ip) {
    return ip[IPV6_NEXT] == UDP || ip[IPV6_NEXT] == TCP || p->makes_frames;
}

/* The frame's IP header, where it is of a version that this pipeline has to do with; returns its bytes. */
static inline uint32_t outer_bytes(const struct ma_pipeline *p, const uint8_t *frame, uint32_t bytes) {
    const uint16_t type = load16(frame + TYPE);
    if (LIKELY(type == __builtin_bswap16(0x0800)))
        return p->ipv6 && !p->any_ip ? 0 : ipv4_bytes(frame + IP, bytes - IP);
    if (type != __builtin_bswap16(0x86dd) || !(p->ipv6 || p->any_ip)) return 0;
    const uint32_t header = ipv6_bytes(frame + IP, bytes - IP);
    return header && is_for_pipeline(p, frame + IP) ? header : 0;
}

/* Headers and body of one frame; 0 where the pipeline has nothing to do with it. */
static inline int parse_one(const struct ma_pipeline *p, const struct wt_packet *packet,
                            struct ma_packet *to) {
    uint8_t *frame = packet->data;
    if (packet->length < MA_HEADERS) return 0;
    const uint32_t header = outer_bytes(p, frame, packet->length);
    const uint32_t body = IP + header + 8 + p->body_offset;
    if (header == 0 || body + p->body_bytes > packet->length) return 0;
    to->at[MA_L3] = frame + IP;
    to->at[MA_L4] = frame + IP + header;
    to->at[MA_BODY] = frame + body;
    if (!p->inner) return 1;
    /* the key's fields are those of the datagram inside, and what follows it is the body */
    const uint32_t left = packet->length - body, inner = p->ipv6 ? IPV6_HEADER : 20;
    if ((p->ipv6 ? ipv6_bytes(frame + body, left) : ipv4_bytes(frame + body, left)) != inner) return 0;
    to->at[MA_L3] = frame + body;
    to->at[MA_L4] = frame + body + inner;
    to->at[MA_BODY] = frame + body + inner + 8;
    return 1;
}

uint32_t ma_parse(struct ma_pipeline *p, struct wt_packet *burst, uint32_t count) {
    uint32_t live = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (i + 4 < count) rte_prefetch0(burst[i + 4].data);
        p->live[live] = (uint16_t)i;
        p->rewritten[i] = 0;
        live += (uint32_t)parse_one(p, &burst[i], &p->packets[i]);
    }
    p->passed_on += count - live;
    return live;
}

/* The one's-complement sum of a header; `bytes` is a multiple of 4. */
static inline uint16_t header_sum(const uint8_t *ip, uint32_t bytes) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < bytes; i += 4) sum += load32(ip + i);
    sum = (sum & 0xffffffffu) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

static inline uint32_t header_bytes(const uint8_t *frame) { return (frame[IP] & 0xfu) * 4; }

/* IPv6 has no checksum of its header. */
static inline int header_holds(const uint8_t *frame) {
    return ma_is_ipv6(frame + IP) || header_sum(frame + IP, header_bytes(frame)) == 0xffff;
}

uint32_t ma_verify(struct ma_pipeline *p, struct wt_packet *burst, uint32_t live) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < live; ++i) {
        const uint16_t at = p->live[i];
        const uint8_t *frame = burst[at].data;
        if (LIKELY(header_holds(frame)))
            p->live[kept++] = at;
        else
            burst[at].verdict = WT_DROP;
    }
    p->bad_checksum += live - kept;
    return kept;
}

/* A store of its own for each field: the compiler may neither join two of them nor leave one out. */
#define COPY(bytes)                        \
    do {                                   \
        memcpy(to, from, bytes);           \
        __asm__ volatile("" ::: "memory"); \
    } while (0)

static inline void copy_field(uint8_t *to, const uint8_t *from, uint32_t bytes) {
    switch (bytes) {
        case 1: COPY(1); break;
        case 2: COPY(2); break;
        case 4: COPY(4); break;
        case 8: COPY(8); break;
        default: COPY(16); break;
    }
}

static inline void make_segments(const uint8_t *from, uint8_t *to, uint32_t segment) {
    if (segment == 4)
        for (uint32_t i = 0; i < 4; ++i, to += 4, from += 4) COPY(4);
    else if (segment == 8)
        for (uint32_t i = 0; i < 2; ++i, to += 8, from += 8) COPY(8);
    else
        COPY(16);
}

static inline void make_key(const struct ma_key *key, const struct ma_packet *packet, uint8_t *to) {
    if (key->segments) return make_segments(packet->at[MA_BODY] + key->fields[0].offset, to, key->segments);
    for (uint32_t i = 0; i < key->field_count; ++i) {
        const struct ma_field f = key->fields[i];
        copy_field(to, packet->at[f.place] + f.offset, f.bytes);
        to += f.bytes;
    }
}

/* Values of up to WT_TABLE_BURST packets. A table that is looked up one by one gets each key as soon as it is
 * made: its stores are still on their way then, as in a loop over packets. */
static inline uint64_t look_up(struct ma_pipeline *p, const struct ma_table *t, const uint16_t *live,
                               uint32_t count, uint32_t *values) {
    uint8_t keys[WT_TABLE_BURST][WT_KEY_MOST] __attribute__((aligned(64)));
    const uint8_t *views[WT_TABLE_BURST];
    uint64_t hits = 0;
    const uint32_t stride = t->key.segments ? 16 : WT_KEY_MOST;
    uint8_t *to = keys[0];
    for (uint32_t i = 0; i < count; ++i, to += stride) {
        if (!t->key.segments) memset(to + t->key.bytes - 4, 0, 4); /* what the fields leave */
        make_key(&t->key, &p->packets[live[i]], to);
        views[i] = to;
        if (t->lookup == WT_SINGLE) hits |= wt_table_lookup(&t->reader, &views[i], 1, values + i) << i;
    }
    return t->lookup == WT_SINGLE ? hits : wt_table_lookup(&t->reader, views, count, values);
}

/* The actions of one lookup; what stays in the pipeline is put behind `kept` of p->live. */
static inline uint32_t act(struct ma_pipeline *p, struct ma_table *t, struct wt_packet *burst,
                           const uint16_t *live, uint32_t count, const uint32_t *values, uint64_t hits,
                           uint32_t *of_packet, uint32_t kept, uint64_t now) {
    for (uint32_t i = 0; i < count; ++i)
        if (hits >> i & 1) rte_prefetch0(ma_action_data(&t->actions, ma_rule_of(values[i])));
    for (uint32_t i = 0; i < count; ++i) {
        const uint16_t at = live[i];
        const int hit = (int)(hits >> i & 1);
        of_packet[at] = hit ? values[i] : MA_MISSED;
        const int stays = hit ? ma_act(&t->actions, ma_rule_of(values[i]), burst[at].data,
                                       burst[at].data + IP, burst[at].length, now, &p->rewritten[at])
                              : !t->miss_drops;
        if (LIKELY(stays))
            p->live[kept++] = at;
        else
            burst[at].verdict = WT_DROP;
    }
    return kept;
}

uint32_t ma_apply(struct ma_pipeline *p, uint32_t table, struct wt_packet *burst, uint32_t live,
                  uint64_t now) {
    struct ma_table *t = &p->tables[table];
    uint32_t kept = 0;
    for (uint32_t from = 0; from < live; from += WT_TABLE_BURST) {
        const uint32_t count = live - from < WT_TABLE_BURST ? live - from : WT_TABLE_BURST;
        uint32_t values[WT_TABLE_BURST];
        uint16_t places[WT_TABLE_BURST]; /* p->live is written to from its beginning */
        memcpy(places, p->live + from, count * sizeof places[0]);
        const uint64_t hits = look_up(p, t, places, count, values);
        t->counts.hits += (uint64_t)__builtin_popcountll(hits);
        kept = act(p, t, burst, places, count, values, hits, p->values[table], kept, now);
    }
    t->counts.lookups += live;
    return kept;
}

/* The whole header's checksum anew: what a pipeline without hardware offload does. */
static inline void compute_one(uint8_t *ip, uint32_t bytes) {
    memset(ip + MA_IP_CHECKSUM, 0, 2);
    const uint16_t field = (uint16_t)~header_sum(ip, bytes);
    memcpy(ip + MA_IP_CHECKSUM, &field, sizeof field);
}

static inline void swap_behind_options(uint8_t *frame, uint32_t header) {
    swap_bytes(frame + IP + IP_ADDRESSES, frame + IP + IP_ADDRESSES + 4, 4);
    swap_bytes(frame + IP + header, frame + IP + header + 2, 2);
}

static inline void swap_ipv6(uint8_t *frame) {
    uint8_t *const source = frame + IP + IPV6_ADDRESSES, *const destination = source + 16, kept[16];
    memcpy(kept, source, sizeof kept);
    memcpy(source, destination, sizeof kept);
    memcpy(destination, kept, sizeof kept);
    swap_bytes(frame + IP + IPV6_HEADER, frame + IP + IPV6_HEADER + 2, 2);
}

void ma_compute(struct ma_pipeline *p, struct wt_packet *burst, uint32_t live) {
    for (uint32_t i = 0; i < live; ++i) {
        uint8_t *frame = burst[p->live[i]].data;
        if (p->rewritten[p->live[i]] && !ma_is_ipv6(frame + IP)) compute_one(frame + IP, header_bytes(frame));
    }
}

/* Back where it came from: addresses and ports change places, which changes no checksum. */
WT_SWAPS void ma_deparse(struct ma_pipeline *p, struct wt_packet *burst, uint32_t live) {
    for (uint32_t i = 0; i < live; ++i) {
        struct wt_packet *packet = &burst[p->live[i]];
        if (LIKELY(packet->data[IP] == 0x45))
            swap_flow(packet->data + IP + IP_ADDRESSES);
        else if (ma_is_ipv6(packet->data + IP))
            swap_ipv6(packet->data);
        else
            swap_behind_options(packet->data, header_bytes(packet->data));
        swap_macs(packet->data);
        packet->verdict = WT_FORWARD;
    }
}
