#include <string.h>

#include "good.h"

static int refuse(const struct wt_open *open, void **state) {
    (void)state;
    memset(open->error, 'x', open->error_size); /* and no terminator */
    return -1;
}

const struct wt_handler wt_handler = {GOOD, .open = refuse};
