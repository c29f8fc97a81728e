/* `match_action`: the pipeline of a software switch: parser, checksum, tables with their actions, checksum,
 * deparser.
 *
 * What its files share. One state a dispatcher; the data path (match_action_packet.c and what it calls) goes
 * over a burst step by step, so that each step is stamped once a burst. Opening and what changes live tables
 * is C++ (match_action_open.cc, live_table.h). */
#ifndef WT_TABLES_MATCH_ACTION_H
#define WT_TABLES_MATCH_ACTION_H

#include <windtunnel/handler.h>

#include "core/terms.h"
#include "parts/tables/actions.h"
#include "parts/tables/library/keys.h"
#include "parts/tables/library/table.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MA_TABLES_MOST = PLAN_MAX_TABLES,
    MA_FIELDS_MOST = PLAN_MAX_KEY_FIELDS,        /* of a key */
    MA_BURST_MOST = PLAN_MAX_BATCH,              /* packets of a call */
    MA_HEADERS = 42,                             /* Ethernet, IPv4 without options, UDP */
    MA_HEADERS_IPV6 = 62,                        /* Ethernet, IPv6 without extensions, UDP */
    MA_INNER_HEADERS = PLAN_INNER_HEADERS_BYTES, /* IPv4 without options, UDP: in a request's body */
    MA_INNER_HEADERS_IPV6 = PLAN_INNER_IPV6_HEADERS_BYTES, /* IPv6 without extensions, UDP */
    MA_MESSAGE_HEADER = PLAN_MESSAGE_HEADER_BYTES,         /* of a request, before its body */
};

/* What a packet carries for each table beside the key: which rule the key hits. */
enum { MA_UNKNOWN = 0, MA_MISS = 1, MA_RULE_FROM = 2 /* and the rule's number */ };

enum ma_place { MA_L3 = 0, MA_L4 = 1, MA_BODY = 2 };

struct ma_field {
    uint8_t place; /* enum ma_place */
    uint8_t bytes; /* 1, 2, 4, 8 or 16 */
    uint16_t offset;
};

/* A key as it is put together: one store a field, of the field's own width, then the table's wide loads. */
struct ma_key {
    struct ma_field fields[MA_FIELDS_MOST];
    uint32_t field_count;
    uint32_t bytes; /* of the key, a multiple of 4; what the fields leave is 0 */
    /* bytes of each field where the key is 16 bytes of the body in equal segments, else 0 */
    uint32_t segments;
};

/* What a table counts, written by its worker alone. */
struct ma_counts {
    uint64_t lookups, hits, checked, wrong;
};

/* One table as a dispatcher reads it. */
struct ma_table {
    struct wt_table_reader reader;
    struct ma_key key;
    struct ma_actions actions;
    uint32_t lookup; /* enum wt_table_lookup_mode */
    uint32_t miss_drops;
    uint32_t expected; /* offset in the body of what the packet says of its key */
    uint64_t rules;    /* that stay in the table; those that live changes add have higher numbers */
    struct ma_counts counts;
};

/* One table's keys, as the generator of the traffic draws them. */
struct ma_source {
    struct wt_keys keys;
    struct ma_key key;
    uint32_t expected;
    uint32_t steered; /* 1: its key is drawn; 0: another table has drawn some of it, or it is not drawn */
};

/* A packet between the steps. */
struct ma_packet {
    uint8_t *at[3]; /* enum ma_place */
};

struct ma_pipeline {
    struct wt_step *const *steps; /* NULL: no steps */
    uint32_t table_count, ingress_count;
    uint32_t body_offset; /* of keys and expectations from the UDP payload */
    uint32_t body_bytes;  /* that a packet must have there */
    /* a table meters and needs the ticks for which the run was parked; else NULL */
    const uint64_t *held_ticks;
    uint32_t checks;       /* 1: some table's packets say what they hit */
    uint32_t inner;        /* 1: fields are of the IP and UDP header in the body */
    uint32_t ipv6;         /* 1: fields, and headers that are made, are of IPv6 */
    uint32_t any_ip;       /* 1: no field is of the frame's own headers */
    uint32_t makes_frames; /* 1: the wire brings empty frames */
    uint64_t random;
    uint64_t passed_on, bad_checksum;
    struct ma_table tables[MA_TABLES_MOST];
    struct ma_source *sources; /* of table_count; NULL where no keys are drawn here */

    /* scratch of a call */
    uint16_t live[MA_BURST_MOST]; /* packets that are in the pipeline, by their place in the burst */
    struct ma_packet packets[MA_BURST_MOST];
    uint8_t rewritten[MA_BURST_MOST];
    /* of a table, for the packet at this place; else MA_NOT_ASKED */
    uint32_t values[MA_TABLES_MOST][MA_BURST_MOST];
};

enum { MA_NOT_ASKED = 0xffffffffu, MA_MISSED = 0xfffffffeu }; /* beyond wt_table_most_value */

/* A value of a table: the number of its rule, and which version of it a live change has put there. */
static inline uint32_t ma_rule_of(uint32_t value) { return value >> 1; }

/* The steps, each over the packets that are still in the pipeline; parse and verify return how many that are.
 */
uint32_t ma_parse(struct ma_pipeline *p, struct wt_packet *burst, uint32_t count);
uint32_t ma_verify(struct ma_pipeline *p, struct wt_packet *burst, uint32_t live);
uint32_t ma_apply(struct ma_pipeline *p, uint32_t table, struct wt_packet *burst, uint32_t live,
                  uint64_t now);
void ma_compute(struct ma_pipeline *p, struct wt_packet *burst, uint32_t live);
void ma_deparse(struct ma_pipeline *p, struct wt_packet *burst, uint32_t live);

/* Traffic: frames for a wire that brings none, bodies of requests; and what the packets said held against
 * what was found. */
void ma_write_frames(struct ma_pipeline *p, struct wt_packet *burst, uint32_t count);
void ma_write_requests(void *state, const struct wt_message *burst, uint32_t count);
void ma_check(struct ma_pipeline *p, struct wt_packet *burst, uint32_t count);

void ma_packet(void *state, struct wt_packet *burst, uint32_t count);

/* The control path (match_action_open.cc), as the handler's descriptor names it. */
int ma_open(const struct wt_open *open, void **state);
void ma_close(void *state);
const struct wt_step_name *ma_steps(void *state);
const struct wt_counter *ma_counters(void *state);
void ma_read_counters(void *state, uint64_t *values);

#ifdef __cplusplus
}
#endif
#endif
