#include "good.h"

static int refuse(const struct wt_open *open, void **state) {
    (void)open, (void)state;
    return 42;
}

const struct wt_handler wt_handler = {GOOD, .open = refuse};
