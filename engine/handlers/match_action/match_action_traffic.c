/* The traffic of `match_action`: keys that hit as the scenario says, and what they hit, in frames or in
 * requests' bodies.
 *
 * Each table's key is drawn by itself; where a table of before has drawn some of the same fields, its key is
 * as that one left it, and what it hits is not known. */
#include "core/random.h"
#include "handlers/match_action/match_action.h"

enum { IP = 14, UDP = 34 };

static inline void put32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof value); }

/* IPv4 and UDP headers over `payload` bytes; a UDP checksum of 0 is none (RFC 768). */
static void write_headers(uint8_t *ip, uint32_t payload) {
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
    static const uint8_t ethernet[IP] = {0x02, 0x77, 0x74, 0, 0, 2, 0x02, 0x77, 0x74, 0, 0, 1, 0x08, 0x00};
    for (uint32_t i = 0; i < count; ++i) {
        uint8_t *frame = burst[i].data;
        if (burst[i].length < MA_HEADERS + p->body_offset + p->body_bytes) continue; /* goes on as it is */
        const struct ma_packet at = {{frame + IP, frame + UDP, frame + MA_HEADERS + p->body_offset}};
        memcpy(frame, ethernet, sizeof ethernet);
        write_headers(frame + IP, burst[i].length - MA_HEADERS);
        draw_keys(p, &at);
        write_checksum(frame + IP);
    }
}

/* A request's body is in segments; keys and expectations lie in the first. */
static void write_body(struct ma_pipeline *p, const struct wt_message *request) {
    if (request->segment_count == 0 || request->segments[0].length < p->body_bytes) return;
    uint8_t *body = request->segments[0].data;
    struct ma_packet at = {{body, body + 20, body}};
    if (p->inner) {
        write_headers(body, 0);
        at.at[MA_BODY] = body + MA_INNER_HEADERS;
    }
    draw_keys(p, &at);
    if (p->inner) write_checksum(body);
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
