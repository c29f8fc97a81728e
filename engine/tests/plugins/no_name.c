#include "good.h"

const struct wt_handler wt_handler = {GOOD, .name = NULL};
