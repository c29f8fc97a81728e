/* The match-action tables: one interface for every method of looking a key up.
 *
 * A table maps a key of 4 to 64 bytes, as it stands on the wire, to a `value`: the place of the action's data
 * in memory of the caller. It is made at open from a list of rules (rules.h), looked up in bursts by readers,
 * one a worker, and, with WT_RCU, changed by one control thread while the readers read.
 *
 * How a live table changes: there are two copies. A change goes into the copy without readers, one store
 * makes it the one to read, and the other is brought up to date when the next change comes and no reader can
 * still be inside (rte_rcu_qsbr says when). So each burst is looked up in one state of the table, the one
 * before a change or the one after it, whatever the method: rte_fib and rte_acl have no such promise of their
 * own. The price is twice the memory, and for WT_ACL one build a change.
 *
 * Memory comes from EAL's heap (hugepages where there are any). The text in `error` is for the user. */
#ifndef WT_TABLES_TABLE_H
#define WT_TABLES_TABLE_H

#include <stddef.h>

#include "parts/tables/library/lookup.h"
#include "parts/tables/library/table_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct wt_rules;
struct wt_table;

/* The largest value that a method can hold with such keys: 2^31 - 2, of rte_lpm 2^24 - 1, of rte_lpm6
 * 2^21 - 1. */
uint32_t wt_table_most_value(uint32_t method, uint32_t key_bytes);

/* Bytes of EAL's heap that the table will want at most, entries and both copies of a live one included: what
 * `-m` must have room for. Needs no EAL. For WT_ACL it is known only after the build; this is an estimate
 * from experience. */
uint64_t wt_table_need(const struct wt_table_plan *plan);

/* The table with all of `rules`, or NULL with words in `error`: the plan is wrong, two rules clash, memory
 * does not suffice. `rules` may be freed afterwards. Needs EAL. */
struct wt_table *wt_table_open(const struct wt_table_plan *plan, const struct wt_rules *rules, char *error,
                               size_t error_size);

/* No reader may be open. NULL is allowed. */
void wt_table_close(struct wt_table *table);

/* From the thread that changes the table, if one does. */
void wt_table_describe(const struct wt_table *table, struct wt_table_state *state);

/* By one thread at a time, never a worker: it allocates, and may wait for lookups that are under way.
 * All of the changes become visible at once, or none of them and -1 with words in `error` (a rule that is
 * there already, or is not there, no room, a table of WT_POINTER). */
int wt_table_change(struct wt_table *table, const struct wt_change *changes, uint32_t count, char *error,
                    size_t error_size);

/* Returns 0, or -1 if there are WT_TABLE_READERS already. From any thread; to be closed before the table. */
int wt_table_reader_open(struct wt_table *table, struct wt_table_reader *reader);
void wt_table_reader_close(struct wt_table *table, struct wt_table_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
