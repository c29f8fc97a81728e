#include "own_copier.h"

static const struct wt_option bad[] = {{"colour", "green", "red|blue", "of the copies", WT_CHOICE, 0},
                                       {NULL, NULL, NULL, NULL, 0, 0}};

const struct wt_copier wt_copier = {OWN, .options = bad};
