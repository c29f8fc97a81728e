/* The traffic of `match_action`: keys that hit as the scenario says, and what they hit, in frames or in
 * requests' bodies.
 *
 * Each table's key is drawn by itself; where a table of before has drawn some of the same fields, its key is
 * as that one left it, and what it hits is not known. */
#include "core/random.h"
#include "parts/tables/match_action.h"

enum { IP = 14, IPV4_HEADER = 20, IPV6_HEADER = 40, UDP = 17 };

static inline void put32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof value); }

/* IPv4 and UDP headers over `payload` bytes; a UDP checksum of 0 is none (RFC 768). */
static void write_ipv4(uint8_t *ip, uint32_t payload) {
    static const uint8_t first[20] = {0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2};
    memcpy(ip, first, sizeof first);
    const uint16_t whole = __builtin_bswap16((uint16_t)(28 + payload));
    const uint16_t datagram = __builtin_bswap16((uint16_t)(8 + payload)), port = __builtin_bswap16(9000);
    memcpy(ip + 2, &whole, 2);
    memcpy(ip + 20, &port, 2);
    memcpy(ip + 22, &port, 2);
    memcpy(ip + 24, &datagram, 2);
    memset(ip + 26, 0, 2);
}

static void write_checksum(uint8_t *ip) {
    uint64_t sum = 0;
    memset(ip + MA_IP_CHECKSUM, 0, 2);
    for (uint32_t i = 0; i < 20; i += 2) {
        uint16_t word;
        memcpy(&word, ip + i, sizeof word);
        sum += word;
    }
    sum = (sum & 0xffff) + (sum >> 16);
    const uint16_t field = (uint16_t)~(sum + (sum >> 16));
    memcpy(ip + MA_IP_CHECKSUM, &field, sizeof field);
}

/* IPv6 and UDP headers likewise; the checksum follows when the key is there. */
static void write_ipv6(uint8_t *ip, uint32_t payload) {
    static const uint8_t first[IPV6_HEADER] = {0x60, 0,    0,    0,        0,    0,    UDP,  64,
                                               0xfd, 0x77, 0x74, [23] = 1, 0xfd, 0x77, 0x74, [39] = 2};
    memcpy(ip, first, sizeof first);
    const uint16_t datagram = __builtin_bswap16((uint16_t)(8 + payload)), port = __builtin_bswap16(9000);
    memcpy(ip + 4, &datagram, 2);
    memcpy(ip + IPV6_HEADER, &port, 2);
    memcpy(ip + IPV6_HEADER + 2, &port, 2);
    memcpy(ip + IPV6_HEADER + 4, &datagram, 2);
}

/* UDP over IPv6 has to have a checksum (RFC 8200, 8.1). What is no UDP, because a key says so, has no such
 * field. */
static void write_udp_checksum(uint8_t *ip, uint32_t payload) {
    uint8_t *const udp = ip + IPV6_HEADER;
    if (ip[6] != UDP) return;
    memset(udp + 6, 0, 2);
    uint64_t sum = __builtin_bswap16(UDP) + __builtin_bswap16((uint16_t)(8 + payload));
    const uint8_t *const end = udp + 8 + payload;
    for (const uint8_t *at = ip + 8; at < end; at += 2) {
        uint16_t word = 0;
        memcpy(&word, at, end - at < 2 ? 1 : 2);
        sum += word;
    }
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    const uint16_t field = (uint16_t)~sum;
    memcpy(udp + 6, field ? &field : &(uint16_t){0xffff}, sizeof field);
}

static uint32_t ip_header_bytes(const struct ma_pipeline *p) { return p->ipv6 ? IPV6_HEADER : IPV4_HEADER; }

static void write_headers(const struct ma_pipeline *p, uint8_t *ip, uint32_t payload) {
    if (p->ipv6)
        write_ipv6(ip, payload);
    else
        write_ipv4(ip, payload);
}

static void write_checksums(const struct ma_pipeline *p, uint8_t *ip, uint32_t payload) {
    if (p->ipv6)
        write_udp_checksum(ip, payload);
    else
        write_checksum(ip);
}

/* The key goes back into the fields that it is made of. */
static void scatter_key(const struct ma_key *key, const uint8_t *from, const struct ma_packet *to) {
    for (uint32_t i = 0; i < key->field_count; ++i) {
        const struct ma_field f = key->fields[i];
        memcpy(to->at[f.place] + f.offset, from, f.bytes);
        from += f.bytes;
    }
}

static void draw_keys(struct ma_pipeline *p, const struct ma_packet *to) {
    uint8_t key[WT_KEY_MOST];
    for (uint32_t t = 0; t < p->table_count; ++t) {
        const struct ma_source *s = &p->sources[t];
        uint32_t hits = MA_UNKNOWN;
        if (s->steered) {
            const uint64_t rule = wt_keys_draw(&s->keys, &p->random, key);
            hits = rule == WT_NO_RULE ? MA_MISS : MA_RULE_FROM + (uint32_t)rule;
            scatter_key(&s->key, key, to);
        }
        put32(to->at[MA_BODY] + s->expected, hits);
    }
}

void ma_write_frames(struct ma_pipeline *p, struct wt_packet *burst, uint32_t count) {
    static const uint8_t stations[12] = {0x02, 0x77, 0x74, 0, 0, 2, 0x02, 0x77, 0x74, 0, 0, 1};
    const uint16_t type = __builtin_bswap16(p->ipv6 ? 0x86dd : 0x0800);
    const uint32_t l4 = IP + ip_header_bytes(p), headers = l4 + 8;
    for (uint32_t i = 0; i < count; ++i) {
        uint8_t *frame = burst[i].data;
        if (burst[i].length < headers + p->body_offset + p->body_bytes) continue; /* goes on as it is */
        const struct ma_packet at = {{frame + IP, frame + l4, frame + headers + p->body_offset}};
        memcpy(frame, stations, sizeof stations);
        memcpy(frame + sizeof stations, &type, sizeof type);
        write_headers(p, frame + IP, burst[i].length - headers);
        draw_keys(p, &at);
        write_checksums(p, frame + IP, burst[i].length - headers);
    }
}

/* A request's body is in segments; keys and expectations lie in the first. */
static void write_body(struct ma_pipeline *p, const struct wt_message *request) {
    if (request->segment_count == 0 || request->segments[0].length < p->body_bytes) return;
    uint8_t *body = request->segments[0].data;
    struct ma_packet at = {{body, body + ip_header_bytes(p), body}};
    if (p->inner) {
        write_headers(p, body, 0);
        at.at[MA_BODY] = body + (p->ipv6 ? MA_INNER_HEADERS_IPV6 : MA_INNER_HEADERS);
    }
    draw_keys(p, &at);
    if (p->inner) write_checksums(p, body, 0);
}

void ma_write_requests(void *state, const struct wt_message *burst, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) write_body(state, &burst[i]);
}

/* Whether the value is one that the packet's word allows. A rule that a live change has added may match a
 * key that misses. */
static inline int is_right(uint32_t said, uint32_t value, uint64_t rules) {
    if (said == MA_MISS) return value == MA_MISSED || ma_rule_of(value) >= rules;
    return value != MA_MISSED && ma_rule_of(value) == said - MA_RULE_FROM;
}

static inline void check_one(struct ma_table *t, uint32_t *value, const uint8_t *body) {
    uint32_t said;
    if (*value == MA_NOT_ASKED) return;
    memcpy(&said, body + t->expected, sizeof said);
    if (said != MA_UNKNOWN) {
        t->counts.checked++;
        t->counts.wrong += !is_right(said, *value, t->rules);
    }
    *value = MA_NOT_ASKED;
}

void ma_check(struct ma_pipeline *p, struct wt_packet *burst, uint32_t count) {
    (void)burst;
    for (uint32_t t = 0; t < p->table_count; ++t)
        for (uint32_t i = 0; i < count; ++i)
            check_one(&p->tables[t], &p->values[t][i], p->packets[i].at[MA_BODY]);
}
