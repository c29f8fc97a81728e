/* Included after the code that DPDK generates: our ends of the pipeline, and the loop that runs one burst
 * through it. */

#include <stdlib.h>

enum { THREADS = RTE_SWX_PIPELINE_THREADS_MAX, LOOKUP_TURNS_MOST = 16 };

/* The view is the packet: SWX moves its head, never its end. */
static int take(void *port, struct rte_swx_pkt *pkt) {
    struct wt_swx_ends *ends = port;
    if (ends->left == 0) return 0;
    struct wt_packet *view = ends->next++;
    ends->left--;
    pkt->handle = view;
    pkt->pkt = view->data - view->headroom;
    pkt->offset = view->headroom;
    pkt->length = view->length;
    return 1;
}

static void leave(void *port, struct rte_swx_pkt *pkt) {
    struct wt_swx_out *out = port;
    out->ends->open--;
    if (unlikely((uintptr_t)pkt->handle & 1)) { /* counted where it was lost */
        ((struct wt_packet *)((uintptr_t)pkt->handle - 1))->verdict = WT_DROP;
        return;
    }
    struct wt_packet *view = pkt->handle;
    view->verdict = (uint16_t)out->verdict;
    out->packets++;
    if (out->verdict == WT_DROP) return;
    view->data = pkt->pkt + pkt->offset;
    view->length = pkt->length;
}

/* There is no packet to clone into; specs with `mirror` are refused. */
static void no_clone(void *port, struct rte_swx_pkt *pkt) { (void)port, (void)pkt; }

static void no_cut_clone(void *port, struct rte_swx_pkt *pkt, uint32_t length) {
    (void)port, (void)pkt, (void)length;
}

#define WT_STEP(name)                                     \
    static void step_##name(struct rte_swx_pipeline *p) { \
        struct thread *t = &p->threads[p->thread_id];     \
        wt_##name(p, t, t->ip);                           \
        thread_ip_inc(p);                                 \
    }
WT_STEP(hdr_extract)
WT_STEP(hdr_extract2)
WT_STEP(hdr_extract3)
WT_STEP(hdr_extract4)
WT_STEP(hdr_extract5)
WT_STEP(hdr_extract6)
WT_STEP(hdr_extract7)
WT_STEP(hdr_extract8)
WT_STEP(hdr_extract_m)
WT_STEP(hdr_lookahead)

/* The thread goes on to its next packet at once, as DPDK's do. */
#define WT_LAST_STEP(name)                                \
    static void step_##name(struct rte_swx_pipeline *p) { \
        struct thread *t = &p->threads[p->thread_id];     \
        wt_##name(p, t, t->ip);                           \
        thread_ip_reset(p, t);                            \
        instr_rx_exec(p);                                 \
    }
WT_LAST_STEP(tx)
WT_LAST_STEP(tx_i)
WT_LAST_STEP(drop)
WT_LAST_STEP(hdr_emit_tx)
WT_LAST_STEP(hdr_emit2_tx)
WT_LAST_STEP(hdr_emit3_tx)
WT_LAST_STEP(hdr_emit4_tx)
WT_LAST_STEP(hdr_emit5_tx)
WT_LAST_STEP(hdr_emit6_tx)
WT_LAST_STEP(hdr_emit7_tx)
WT_LAST_STEP(hdr_emit8_tx)

static void guard_instructions(instr_exec_t *table) {
    table[INSTR_HDR_EXTRACT] = step_hdr_extract;
    table[INSTR_HDR_EXTRACT2] = step_hdr_extract2;
    table[INSTR_HDR_EXTRACT3] = step_hdr_extract3;
    table[INSTR_HDR_EXTRACT4] = step_hdr_extract4;
    table[INSTR_HDR_EXTRACT5] = step_hdr_extract5;
    table[INSTR_HDR_EXTRACT6] = step_hdr_extract6;
    table[INSTR_HDR_EXTRACT7] = step_hdr_extract7;
    table[INSTR_HDR_EXTRACT8] = step_hdr_extract8;
    table[INSTR_HDR_EXTRACT_M] = step_hdr_extract_m;
    table[INSTR_HDR_LOOKAHEAD] = step_hdr_lookahead;
    table[INSTR_TX] = step_tx;
    table[INSTR_TX_I] = step_tx_i;
    table[INSTR_DROP] = step_drop;
    table[INSTR_HDR_EMIT_TX] = step_hdr_emit_tx;
    table[INSTR_HDR_EMIT2_TX] = step_hdr_emit2_tx;
    table[INSTR_HDR_EMIT3_TX] = step_hdr_emit3_tx;
    table[INSTR_HDR_EMIT4_TX] = step_hdr_emit4_tx;
    table[INSTR_HDR_EMIT5_TX] = step_hdr_emit5_tx;
    table[INSTR_HDR_EMIT6_TX] = step_hdr_emit6_tx;
    table[INSTR_HDR_EMIT7_TX] = step_hdr_emit7_tx;
    table[INSTR_HDR_EMIT8_TX] = step_hdr_emit8_tx;
}

static int is_table(const struct instruction *ip) {
    return ip->type == INSTR_TABLE || ip->type == INSTR_TABLE_AF;
}

/* By place: what stands before the first table parses, what stands behind the last one takes the packet
 * together again. */
static int name_steps(struct rte_swx_pipeline *p, struct wt_swx_ends *ends) {
    uint32_t first = p->n_instructions, last = 0;
    ends->step_of = calloc(p->n_instructions, 1);
    if (!ends->step_of) return -1;
    for (uint32_t i = 0; i < p->n_instructions; i++) {
        if (!is_table(&p->instructions[i])) continue;
        if (first == p->n_instructions) first = i;
        last = i;
    }
    for (uint32_t i = first; i < p->n_instructions; i++) {
        const uint32_t step = is_table(&p->instructions[i])
                                  ? WT_SWX_TABLES + p->instructions[i].table.table_id
                              : i > last ? WT_SWX_DEPARSER
                                         : WT_SWX_CONTROL;
        ends->step_of[i] = (uint8_t)RTE_MIN(step, ends->most_steps - 1);
    }
    return 0;
}

static int attach(struct rte_swx_pipeline *p, struct wt_swx_ends *ends) {
    if (name_steps(p, ends) != 0) return -1;
    p->in[0] = (struct port_in_runtime){.pkt_rx = take, .obj = ends};
    for (uint32_t i = 0; i < ends->outs; i++)
        p->out[i] = (struct port_out_runtime){.pkt_tx = leave,
                                              .pkt_fast_clone_tx = no_clone,
                                              .pkt_clone_tx = no_cut_clone,
                                              .obj = &ends->out[i]};
    guard_instructions(p->instruction_table);
    return 0;
}

/* A thread that waits at `rx` for a packet. */
static inline int idle(const struct rte_swx_pipeline *p, const struct thread *t) {
    return t->ip == p->instructions && !t->recirculate;
}

/* A table keeps the state of a lookup by thread: begun for one packet, it would be ended for the next. */
static __attribute__((cold)) void end_lookup(struct rte_swx_pipeline *p, uint32_t thread) {
    const struct thread *t = &p->threads[thread];
    const struct instruction *ip = t->ip;
    const int looks_up = is_table(ip) || ip->type == INSTR_LEARNER || ip->type == INSTR_LEARNER_AF;
    for (int turns = 0; looks_up && t->ip == ip && turns < LOOKUP_TURNS_MOST; turns++) {
        p->thread_id = thread;
        p->instruction_table[ip->type](p);
    }
}

/* The burst must end although its packets do not: those still under way are dropped, and all threads begin
 * anew. */
static __attribute__((cold)) void give_up(struct rte_swx_pipeline *p, struct wt_swx_ends *ends) {
    ends->stuck += ends->open;
    for (uint32_t i = 0; i < ends->left; i++) ends->next[i].verdict = WT_DROP;
    for (uint32_t i = 0; i < THREADS; i++) {
        struct thread *t = &p->threads[i];
        if (!idle(p, t)) {
            end_lookup(p, i);
            ((struct wt_packet *)((uintptr_t)t->pkt.handle & ~(uintptr_t)1))->verdict = WT_DROP;
        }
        t->recirculate = 0;
        thread_ip_reset(p, t);
    }
    ends->left = ends->open = 0;
}

/* One instruction of the next thread, as rte_swx_pipeline_run does. */
static inline void execute(struct rte_swx_pipeline *p) {
    const struct thread *t = &p->threads[p->thread_id];
    p->instruction_table[t->ip->type](p);
}

/* While packets wait, all threads have work and nothing is asked between two of their turns. What is left
 * goes on alone: a thread with nothing to do is passed over. */
static void run(struct rte_swx_pipeline *p, struct wt_swx_ends *ends, struct wt_packet *burst,
                uint32_t count) {
    int64_t patience = (int64_t)count * WT_SWX_PATIENCE;
    ends->next = burst;
    ends->left = ends->open = count;
    for (; ends->left && patience > 0; patience -= THREADS)
        for (uint32_t i = 0; i < THREADS; i++) execute(p);
    for (; ends->open && patience > 0; patience--) {
        if (idle(p, &p->threads[p->thread_id]))
            thread_yield(p);
        else
            execute(p);
    }
    if (unlikely(ends->open)) give_up(p, ends);
}

static void run_timed(struct rte_swx_pipeline *p, struct wt_swx_ends *ends, struct wt_packet *burst,
                      uint32_t count, struct wt_step *steps) {
    uint64_t since = wt_ticks();
    ends->next = burst;
    ends->left = ends->open = count;
    for (uint64_t patience = (uint64_t)count * WT_SWX_PATIENCE; ends->open; patience--) {
        struct thread *t = &p->threads[p->thread_id];
        const struct instruction *ip = t->ip;
        if (unlikely(patience == 0)) return give_up(p, ends);
        if (ends->left == 0 && idle(p, t)) {
            thread_yield(p);
            continue;
        }
        const size_t at = (size_t)(ip - p->instructions);
        const uint32_t step = at < p->n_instructions ? ends->step_of[at] : WT_SWX_PARSER;
        p->instruction_table[ip->type](p);
        /* a lookup takes several turns */
        since = wt_step_end(&steps[step], since, step >= WT_SWX_TABLES && t->ip != ip);
    }
    steps[WT_SWX_PARSER].packets += count;
    if (p->n_tables == 0) return;
    steps[WT_SWX_CONTROL].packets += count;
    steps[WT_SWX_DEPARSER].packets += count;
}

const struct wt_swx_inside wt_swx_inside = {.attach = attach, .run = run, .run_timed = run_timed};
