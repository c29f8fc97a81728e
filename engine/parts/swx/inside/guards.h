/* Included before the code that DPDK generates: its instructions that trust a packet's bytes, each behind a
 * guard.
 *
 * `extract` reads whatever a short packet is followed by, `emit` writes before the buffer where headroom does
 * not suffice, and `tx` to a port that is not there jumps to an address of chance. Here such a packet is
 * dropped by name instead. The wrappers take the names of DPDK's functions, so that the generated code calls
 * them; what the library itself would execute is replaced in its table of instructions (run.c). */
#include "inside.h"
#include "rte_swx_pipeline_internal.h"

/* The packet's view, whose lowest bit says that it is lost: it goes on to its end, and is dropped there. */
static inline struct wt_swx_ends *ends_of(struct rte_swx_pipeline *p) { return p->in[0].obj; }

static inline void lose(struct thread *t, uint64_t *why) {
    if ((uintptr_t)t->pkt.handle & 1) return;
    t->pkt.handle = (void *)((uintptr_t)t->pkt.handle | 1);
    ++*why;
}

/* A header that is not there reads as zeros, from its own storage. */
static inline void read_zeros(struct thread *t, const struct instruction *ip, uint32_t headers) {
    for (uint32_t i = 0; i < headers; i++) {
        struct header_runtime *h = &t->headers[ip->io.hdr.header_id[i]];
        memset(h->ptr0, 0, ip->io.hdr.n_bytes[i]);
        t->structs[ip->io.hdr.struct_id[i]] = h->ptr0;
    }
}

static inline int has_bytes(struct rte_swx_pipeline *p, struct thread *t, const struct instruction *ip,
                            uint32_t headers, uint64_t more) {
    uint64_t bytes = more;
    for (uint32_t i = 0; i < headers; i++) bytes += ip->io.hdr.n_bytes[i];
    if (likely(bytes <= t->pkt.length)) return 1;
    read_zeros(t, ip, headers);
    lose(t, &ends_of(p)->too_short);
    return 0;
}

static inline int has_headroom(struct thread *t, const struct instruction *ip, uint32_t headers) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < t->n_headers_out; i++) bytes += t->headers_out[i].n_bytes;
    for (uint32_t i = 0; i < headers; i++)
        if (MASK64_BIT_GET(t->valid_headers, ip->io.hdr.header_id[i]))
            bytes += t->headers[ip->io.hdr.header_id[i]].n_bytes;
    return likely(bytes <= t->pkt.offset);
}

/* Nothing is emitted of a packet that is dropped. */
static inline void drop_at_end(struct rte_swx_pipeline *p, struct thread *t, const struct instruction *ip) {
    t->n_headers_out = 0;
    t->recirculate = 0;
    __instr_drop_exec(p, t, ip);
}

/* Whether the packet may leave with `headers` more emitted; else it is dropped here. */
static inline int may_leave(struct rte_swx_pipeline *p, struct thread *t, const struct instruction *ip,
                            uint32_t headers, uint64_t port) {
    if (unlikely(port >= p->n_ports_out && !t->recirculate)) lose(t, &ends_of(p)->no_port);
    if (unlikely(!has_headroom(t, ip, headers))) lose(t, &ends_of(p)->no_headroom);
    if (likely(((uintptr_t)t->pkt.handle & 1) == 0)) return 1;
    drop_at_end(p, t, ip);
    return 0;
}

#define WT_EXTRACT(name, headers)                                              \
    static inline void wt_##name(struct rte_swx_pipeline *p, struct thread *t, \
                                 const struct instruction *ip) {               \
        if (has_bytes(p, t, ip, headers, 0)) __instr_##name##_exec(p, t, ip);  \
    }
WT_EXTRACT(hdr_extract, 1)
WT_EXTRACT(hdr_extract2, 2)
WT_EXTRACT(hdr_extract3, 3)
WT_EXTRACT(hdr_extract4, 4)
WT_EXTRACT(hdr_extract5, 5)
WT_EXTRACT(hdr_extract6, 6)
WT_EXTRACT(hdr_extract7, 7)
WT_EXTRACT(hdr_extract8, 8)
WT_EXTRACT(hdr_lookahead, 1)

/* Of a length that the packet itself may say. */
static inline void wt_hdr_extract_m(struct rte_swx_pipeline *p, struct thread *t,
                                    const struct instruction *ip) {
    const uint32_t more = METADATA_READ(t, ip->io.io.offset, ip->io.io.n_bits);
    if (has_bytes(p, t, ip, 1, more)) __instr_hdr_extract_m_exec(p, t, ip);
}

#define WT_TX(name, headers)                                                        \
    static inline void wt_##name(struct rte_swx_pipeline *p, struct thread *t,      \
                                 const struct instruction *ip) {                    \
        const uint64_t port = METADATA_READ(t, ip->io.io.offset, ip->io.io.n_bits); \
        if (may_leave(p, t, ip, headers, port)) __instr_##name##_exec(p, t, ip);    \
    }
WT_TX(tx, 0)
WT_TX(hdr_emit_tx, 1)
WT_TX(hdr_emit2_tx, 2)
WT_TX(hdr_emit3_tx, 3)
WT_TX(hdr_emit4_tx, 4)
WT_TX(hdr_emit5_tx, 5)
WT_TX(hdr_emit6_tx, 6)
WT_TX(hdr_emit7_tx, 7)
WT_TX(hdr_emit8_tx, 8)

static inline void wt_tx_i(struct rte_swx_pipeline *p, struct thread *t, const struct instruction *ip) {
    if (may_leave(p, t, ip, 0, ip->io.io.val)) __instr_tx_i_exec(p, t, ip);
}

/* A dropped packet is not rebuilt first, as DPDK would: no one reads it. */
static inline void wt_drop(struct rte_swx_pipeline *p, struct thread *t, const struct instruction *ip) {
    drop_at_end(p, t, ip);
}

#define __instr_hdr_extract_exec wt_hdr_extract
#define __instr_hdr_extract2_exec wt_hdr_extract2
#define __instr_hdr_extract3_exec wt_hdr_extract3
#define __instr_hdr_extract4_exec wt_hdr_extract4
#define __instr_hdr_extract5_exec wt_hdr_extract5
#define __instr_hdr_extract6_exec wt_hdr_extract6
#define __instr_hdr_extract7_exec wt_hdr_extract7
#define __instr_hdr_extract8_exec wt_hdr_extract8
#define __instr_hdr_extract_m_exec wt_hdr_extract_m
#define __instr_hdr_lookahead_exec wt_hdr_lookahead
#define __instr_tx_exec wt_tx
#define __instr_tx_i_exec wt_tx_i
#define __instr_drop_exec wt_drop
#define __instr_hdr_emit_tx_exec wt_hdr_emit_tx
#define __instr_hdr_emit2_tx_exec wt_hdr_emit2_tx
#define __instr_hdr_emit3_tx_exec wt_hdr_emit3_tx
#define __instr_hdr_emit4_tx_exec wt_hdr_emit4_tx
#define __instr_hdr_emit5_tx_exec wt_hdr_emit5_tx
#define __instr_hdr_emit6_tx_exec wt_hdr_emit6_tx
#define __instr_hdr_emit7_tx_exec wt_hdr_emit7_tx
#define __instr_hdr_emit8_tx_exec wt_hdr_emit8_tx
