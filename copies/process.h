/* What a process has of the page. */
#ifndef WT_COPIES_PROCESS_H
#define WT_COPIES_PROCESS_H

#include "move.h"
#include "page.h"

/* memmove of the C library, which copies what overlaps, too: a program that was linked when memcpy did so has
 * what it relies on. NULL: the constructor has not run yet. */
extern wt_move_function *wt_move;

extern struct wt_copies_page *wt_page; /* NULL: nothing is counted */
extern char wt_program[WT_COPIES_PROGRAM];

/* The number of this process, and 0 in the child of a fork, however it was made, until that has copied. */
extern uint32_t *const wt_process;

void wt_count_early(void);

#endif
