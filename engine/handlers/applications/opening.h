/* What the `open` of every built-in handler needs. */
#ifndef WT_HANDLERS_OPENING_H
#define WT_HANDLERS_OPENING_H

#include <windtunnel/handler.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes words into open->error; returns -1, for `return wt_refuse(...)`. */
__attribute__((format(printf, 2, 3))) int wt_refuse(const struct wt_open *open, const char *format, ...);

/* An option's value. The engine hands over every option of the handler's list, checked against its type. */
const char *wt_text(const struct wt_open *open, const char *name);
uint64_t wt_number(const struct wt_open *open, const char *name);

/* An option of type WT_TEXT as a number with a fraction, as in 1.5. Returns 0, or -1 with words in
 * open->error. */
int wt_real(const struct wt_open *open, const char *name, double *value);

/* Memory for the run: zeroed, at a cache line, from a page up on the worker's NUMA node, and touched, so
 * that no page fault is left for the loop. NULL with words in open->error where `bytes` is more than the
 * machine can give; `what` names the option to blame. Given back with free(). */
void *wt_take_memory(const struct wt_open *open, const char *what, uint64_t bytes);

/* For who opens handlers and runs none of them, as `check`: of what they take from now on, `bytes` are
 * touched. What is more is still asked of the machine, and is zeros that take no memory. */
void wt_touch_at_most(uint64_t bytes);

/* Whether `bytes` more may be touched. If not, a handler leaves its data as it is, and is not called. */
int wt_may_touch(uint64_t bytes);

/* Whether something was left untouched. */
int wt_left_untouched(void);

/* `open` and no `close` for a handler that keeps nothing. */
int wt_open_nothing(const struct wt_open *open, void **state);

#ifdef __cplusplus
}
#endif

#endif
