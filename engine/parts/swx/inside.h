/* What the handler swx and the object that it compiles from a spec say to each other.
 *
 * DPDK's pipeline keeps its ends to itself: rte_swx_pipeline_build_from_lib makes only the kinds of port that
 * it knows. But the code that it generates is compiled with its internal structures in sight, and our few
 * lines with it (inside/): they put our ends in the place of DPDK's, guard what a packet could break, and run
 * one burst. */
#ifndef WT_SWX_INSIDE_H
#define WT_SWX_INSIDE_H

#include <stdint.h>
#include <windtunnel/handler.h>

/* Raised with any change to what stands below or in inside/: part of the key of a cached object. */
#define WT_SWX_INSIDE 3

struct rte_swx_pipeline;
struct wt_swx_ends;

/* The steps of a pipeline, in this order; a pipeline without tables is one step. */
enum wt_swx_step {
    WT_SWX_PARSER = 0, /* up to the first table */
    /* between the first table and the last, and what is no lookup; selectors and learners too */
    WT_SWX_CONTROL = 1,
    WT_SWX_DEPARSER = 2, /* behind the last one, and the taking of the next packet */
    WT_SWX_TABLES = 3,   /* each table's lookups, with the action */
};

/* An output port: what becomes of the packets sent to it. The last one is the pipeline's drop. */
struct wt_swx_out {
    struct wt_swx_ends *ends;
    uint64_t packets;
    uint32_t verdict; /* enum wt_verdict */
    uint32_t reserved;
};

/* Both ends of one pipeline, and the burst that is between them. */
struct wt_swx_ends {
    struct wt_packet *next; /* to be taken */
    uint32_t left;          /* how many to take */
    uint32_t open;          /* how many without a verdict */
    struct wt_swx_out *out;
    uint32_t outs;
    uint32_t most_steps; /* tables beyond them share the last one */
    /* of each instruction, made by `attach` with malloc; what frees the pipeline frees it */
    uint8_t *step_of;
    /* dropped, and why: those of the spec's own drop are in the last port's `packets` */
    uint64_t too_short;   /* the spec extracts more than there is */
    uint64_t no_headroom; /* the spec emits more than fits before the payload */
    uint64_t no_port;     /* sent to a port that is not there */
    uint64_t stuck;       /* on its way round for more than WT_SWX_PATIENCE instructions */
};

/* Instructions a packet of a burst may take; recirculation alone can make it endless. */
#define WT_SWX_PATIENCE 65536u

struct wt_swx_inside {
    /* Puts the ends in place. The pipeline was just built, with `ends->outs` output ports. 0, or -1 without
     * memory. */
    int (*attach)(struct rte_swx_pipeline *pipeline, struct wt_swx_ends *ends);
    /* Runs the pipeline until each packet of the burst has its verdict. */
    void (*run)(struct rte_swx_pipeline *pipeline, struct wt_swx_ends *ends, struct wt_packet *burst,
                uint32_t count);
    /* Likewise, with a stamp behind each instruction. */
    void (*run_timed)(struct rte_swx_pipeline *pipeline, struct wt_swx_ends *ends, struct wt_packet *burst,
                      uint32_t count, struct wt_step *steps);
};

#endif
