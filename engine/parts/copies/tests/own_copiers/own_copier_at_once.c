/* All that it takes has ended with the call, but it may say that it took more. */
#include "own_copier.h"

static uint32_t submit_at_once(void *state, const struct wt_copy_piece *pieces, uint32_t count) {
    uint32_t i;
    for (i = 0; i < count; i++) memcpy(pieces[i].to, pieces[i].from, pieces[i].bytes);
    return has(state, "takes_too_many") ? count + 1 : count;
}

const struct wt_copier wt_copier = {OWN, .submit = submit_at_once, .completed = NULL};
