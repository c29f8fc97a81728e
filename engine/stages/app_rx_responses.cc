// app_rx of a client.
#include "stages/app_rx_responses.h"

#include "stages/stages.h"

namespace wt {

call_result app_rx_responses(void *role, const stage_call &call) {
    return take_responses<nullptr>(role, call);
}

}  // namespace wt
