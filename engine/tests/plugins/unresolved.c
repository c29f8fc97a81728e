#include "good.h"

int nobody_has_this(const struct wt_open *open, void **state);

const struct wt_handler wt_handler = {GOOD, .open = nobody_has_this};
