// app_tx of a client that checks the bodies of responses.
#include "parts/copies/copying.h"
#include "stages/app_tx_messages.h"

namespace wt {

call_result app_tx_remembering(void *role, const stage_call &call) {
    return send_messages<remember_requests>(role, call);
}

}  // namespace wt
