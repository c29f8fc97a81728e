// What the part `rdma` brings beside its wire: the command that says what providers offer.
#include <cstdio>

#include "parts/part.h"
#include "parts/rdma/offers.h"

namespace wt {

namespace {

// A JSON list, or null.
bool print_offers(std::span<const std::string> words) {
    if (!words.empty()) return false;
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
    return std::printf("%s\n", all.dump().c_str()), true;
}

constexpr part_command commands[] = {
    {"--rdma", "", "  --rdma                print what libfabric's providers offer on this host as JSON",
     print_offers}};

}  // namespace

WT_PART(rdma) = {.name = "rdma", .commands = commands};

}  // namespace wt
