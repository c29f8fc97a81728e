/* A reader's burst: which copy of the table, then its method's lookup. Data path. */
#include "parts/tables/library/lookup.h"

#include <rte_branch_prediction.h>
#include <rte_rcu_qsbr.h>

#include "parts/tables/library/method.h"

uint64_t wt_pointed_bulk(const struct wt_copy *copy, const uint8_t *const keys[], uint32_t count,
                         uint32_t values[]) {
    const uint64_t hits = copy->bulk(copy, keys, count, values);
    for (uint64_t left = hits; left; left &= left - 1)
        __builtin_prefetch(&copy->entries[values[__builtin_ctzll(left)]]);
    for (uint64_t left = hits; left; left &= left - 1) {
        uint32_t *const value = &values[__builtin_ctzll(left)];
        *value = copy->entries[*value].value;
    }
    return hits;
}

/* The reader is known to the writer during the burst alone: an idle worker delays no writer.
 * It costs one fence a burst. */
uint64_t wt_table_lookup(const struct wt_table_reader *reader, const uint8_t *const keys[], uint32_t count,
                         uint32_t values[]) {
    if (!reader->shared) return reader->copy->lookup(reader->copy, keys, count, values);
    rte_rcu_qsbr_thread_online(reader->bursts, reader->id);
    const struct wt_copy *const copy = __atomic_load_n(reader->shared, __ATOMIC_ACQUIRE);
    const uint64_t hits = copy->lookup(copy, keys, count, values);
    rte_rcu_qsbr_thread_offline(reader->bursts, reader->id);
    return hits;
}
