#include "wires/rdma/offers.h"

#include <nlohmann/json.hpp>

namespace wt {

void print_rdma_offers(std::FILE *to) {
    nlohmann::ordered_json all;
    if (const auto offers = rdma_offers()) {
        all = nlohmann::ordered_json::array();
        for (const rdma_offer &o : *offers)
            all.push_back({{"provider", o.provider},
                           {"type", o.type},
                           {"domain", o.domain},
                           {"largest", o.largest},
                           {"endpoints", o.endpoints},
                           {"most_sends", o.most_sends},
                           {"most_receives", o.most_receives}});
    }
    std::fprintf(to, "%s\n", all.dump().c_str());
}

}  // namespace wt
