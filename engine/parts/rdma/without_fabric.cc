// In place of fabric/ where the engine is built without libfabric.
#include "core/refusal.h"
#include "parts/rdma/offers.h"
#include "parts/rdma/rdma.h"

namespace wt {

port open_fabric(const rdma_setup &) {
    throw refusal("rdma wire: this engine was built without libfabric",
                  "install libfabric-dev (1.17 or later) and build the engine again");
}

std::optional<std::vector<rdma_offer>> rdma_offers() { return std::nullopt; }

}  // namespace wt
