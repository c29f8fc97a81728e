#include <stdio.h>

#include "good.h"

static int refuse(const struct wt_open *open, void **state) {
    (void)state;
    snprintf(open->error, open->error_size, "no licence for %u bytes", open->request_length);
    return -1;
}

const struct wt_handler wt_handler = {GOOD, .open = refuse};
