/* Makes a stopped thread call a function, and go on as before, whatever becomes of this process meanwhile. */
#ifndef WT_ATTACH_CALL_H
#define WT_ATTACH_CALL_H

#include <stdint.h>

#include "sleeper.h"

/* `restorer`: code in the target that makes the system call rt_sigreturn. The function gets the address of
 * `text` and `number`. Lets the thread go. */
void wt_call(const struct wt_target *target, const struct wt_sleeper *sleeper, uint64_t function,
             uint64_t restorer, const char *text, uint64_t number);

#endif
