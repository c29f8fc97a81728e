#include "own_copier.h"

const struct wt_copier wt_copier = {OWN, .help = NULL};
