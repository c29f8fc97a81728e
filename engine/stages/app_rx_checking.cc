// app_rx of a client that checks the bodies of responses.
#include "stages/app_rx_responses.h"
#include "stages/stages.h"

namespace wt {

call_result app_rx_checking(void *role, const stage_call &call) { return take_responses<true>(role, call); }

}  // namespace wt
