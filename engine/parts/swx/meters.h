// Profiles of a pipeline's meters. Without one a meter calls each packet green.
#pragma once

#include <rte_swx_ctl.h>

#include <string>
#include <vector>

#include "parts/swx/entries.h"

namespace wt {

// One line of a tables file, as the commands of DPDK's example `pipeline` have it; rates are bytes a second,
// bursts are bytes:
//
//     meter profile gold add cir 1000000 pir 2000000 cbs 10000 pbs 10000
//     meter police from 0 to 3 set profile gold
//
// Throws refusal that begins with FILE:LINE. Needs EAL.
void set_meters(rte_swx_pipeline *pipeline, const entry_line &line, const std::vector<std::string> &words);

}  // namespace wt
