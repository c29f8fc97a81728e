// cpu: the worker copies, by rte_memcpy. What every other copier is compared with.
#include <rte_memcpy.h>

#include "parts/copies/copiers/immediate.h"

namespace wt {

namespace {

uint32_t submit(void *state, const copy_piece *pieces, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) rte_memcpy(pieces[i].to, pieces[i].from, pieces[i].bytes);
    immediate_ended(state, count);
    return count;
}

copy_channel open(const copier_end &) { return open_immediate(submit, "rte_memcpy"); }

}  // namespace

WT_COPIER(cpu) = {
    .name = "cpu", .help = "the worker copies, by rte_memcpy", .most_depth = 8192, .open = open};

}  // namespace wt
