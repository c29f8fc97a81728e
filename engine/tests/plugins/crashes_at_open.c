#include <signal.h>

#include "good.h"

static int crash(const struct wt_open *open, void **state) {
    (void)open, (void)state;
    return raise(SIGSEGV);
}

const struct wt_handler wt_handler = {GOOD, .open = crash};
