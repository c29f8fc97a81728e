// Copiers whose copies have ended when they are submitted: loops of the CPU.
#pragma once

#include "parts/copies/copiers/copier.h"

namespace wt {

// A channel for one of them. `submit` gets the channel's state, copies all pieces, and counts them with
// immediate_ended.
copy_channel open_immediate(uint32_t (*submit)(void *, const copy_piece *, uint32_t), const char *device);

void immediate_ended(void *state, uint32_t copies);

}  // namespace wt
