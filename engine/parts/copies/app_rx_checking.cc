// app_rx of a client that checks the bodies of responses.
#include "parts/copies/copying.h"
#include "stages/app_rx_responses.h"

namespace wt {

call_result app_rx_checking(void *role, const stage_call &call) {
    return take_responses<check_responses>(role, call);
}

}  // namespace wt
