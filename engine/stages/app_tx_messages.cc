// app_tx of a client.
#include "stages/app_tx_messages.h"

#include "stages/stages.h"

namespace wt {

call_result app_tx(void *role, const stage_call &call) { return send_messages<nullptr>(role, call); }

}  // namespace wt
