/* A burst of lookups by a worker: the data path of a table. */
#ifndef WT_TABLES_LOOKUP_H
#define WT_TABLES_LOOKUP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One worker's access to a table. */
struct wt_copy;
struct wt_table_reader {
    const struct wt_copy *copy;                   /* WT_POINTER */
    const struct wt_copy *const volatile *shared; /* WT_RCU, else NULL */
    struct rte_rcu_qsbr *bursts;                  /* WT_RCU: who is inside a burst */
    uint32_t id;                                  /* in `bursts` */
};

/* Looks up `count` keys, 1 to WT_TABLE_BURST, which must not change meanwhile. Bit i of the result: key i has
 * a rule, and its value stands in values[i]; of a key without a rule values[i] is anything. Data path: no
 * allocation, no lock, one indirect call. */
uint64_t wt_table_lookup(const struct wt_table_reader *reader, const uint8_t *const keys[], uint32_t count,
                         uint32_t values[]);

#ifdef __cplusplus
}
#endif
#endif
