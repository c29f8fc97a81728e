/* State of the handlers that only scan: whether to. Kept in the state pointer itself, for nothing to
 * allocate. */
#ifndef WT_HANDLERS_SCANNING_H
#define WT_HANDLERS_SCANNING_H

#include "handlers/applications/body.h"

static inline int scanning_open(const struct wt_open *open, void **state) {
    *state = (void *)(uintptr_t)open->scan;
    return 0;
}

static inline uint64_t scanning_word(const void *state, const struct wt_message *request) {
    return state ? body_scan(request) : 0;
}

#endif
