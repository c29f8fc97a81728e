// app_tx of a client that checks the bodies of responses.
#include "stages/app_tx_messages.h"
#include "stages/stages.h"

namespace wt {

call_result app_tx_remembering(void *role, const stage_call &call) { return send_messages<true>(role, call); }

}  // namespace wt
