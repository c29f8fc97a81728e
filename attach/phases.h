/* What the ports did while the probe was present, and while it was absent: their own counters at each change
 * tell what the probe costs this application. */
#ifndef WT_ATTACH_PHASES_H
#define WT_ATTACH_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include "page.h"

/* Reads the counters of all ports at the end of a phase. `known`: the phase was `present` or absent from the
 * last reading on. */
void wt_end_phase(struct wt_attach_page *page, bool known, bool present);

#endif
