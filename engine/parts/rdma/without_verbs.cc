// In place of verbs/ where the engine is built without libibverbs and librdmacm.
#include "core/refusal.h"
#include "parts/rdma/rdma.h"

namespace wt {

port open_verbs(const rdma_setup &) {
    throw refusal("rdma wire: this engine was built without libibverbs and librdmacm",
                  "install libibverbs-dev and librdmacm-dev and build the engine again");
}

}  // namespace wt
