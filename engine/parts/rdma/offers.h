// What libfabric's providers offer on this host, for `windtunnel host doctor`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wt {

// 0: the provider claims nothing.
struct rdma_offer {
    std::string provider, type, domain;  // type: rc, ud, rdm
    uint64_t largest;                    // bytes of a message
    uint64_t endpoints;                  // of a domain: queue pairs, where it has those
    uint64_t most_sends, most_receives;  // posted at once, of an endpoint
};

// Each provider once for a type and a domain; null: this engine was built without libfabric.
std::optional<std::vector<rdma_offer>> rdma_offers();

}  // namespace wt
