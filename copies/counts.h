/* Counts and times the copies of a thread. */
#ifndef WT_COPIES_COUNTS_H
#define WT_COPIES_COUNTS_H

#include <stddef.h>

#include "page.h"

/* Makes a copy, and counts it if the process has a page. No lock, no allocation, and a system call only when
 * a thread is new, and some hundred times a second for its CPU time: it may be called in a signal handler. */
void *wt_copy(enum wt_copies_function function, void *to, const void *from, size_t bytes);

#endif
