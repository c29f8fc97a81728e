#include "good.h"

static const struct wt_option options[] = {{"colour", "green", "red|blue", "of the sky", WT_CHOICE, 0},
                                           {NULL, NULL, NULL, NULL, 0, 0}};

const struct wt_handler wt_handler = {GOOD, .options = options};
