/* The control path of `match_action`, as its table of hooks names it. */
#ifndef WT_HANDLERS_MATCH_ACTION_OPEN_H
#define WT_HANDLERS_MATCH_ACTION_OPEN_H

#include <windtunnel/handler.h>

#ifdef __cplusplus
extern "C" {
#endif

int ma_open(const struct wt_open *open, void **state);
void ma_close(void *state);
const struct wt_step_name *ma_steps(void *state);
const struct wt_counter *ma_counters(void *state);
void ma_read_counters(void *state, uint64_t *values);

#ifdef __cplusplus
}
#endif
#endif
