#include "good.h"

const struct wt_handler wt_handler = {GOOD, .kind = WT_PACKET_HANDLER};
