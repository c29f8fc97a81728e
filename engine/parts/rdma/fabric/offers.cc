#include "parts/rdma/offers.h"

#include <algorithm>

#include "parts/rdma/fabric/handles.h"

namespace wt {

namespace {

// "": a type that the wire has no use for.
std::string type_of(fi_ep_type type) {
    switch (type) {
        case FI_EP_MSG: return "rc";
        case FI_EP_DGRAM: return "ud";
        case FI_EP_RDM: return "rdm";
        default: return "";
    }
}

std::string text_of(const char *text) { return text == nullptr ? "" : text; }

rdma_offer offer_of(const fi_info &i) {
    return {.provider = text_of(i.fabric_attr->prov_name),
            .type = type_of(i.ep_attr->type),
            .domain = text_of(i.domain_attr->name),
            .largest = i.ep_attr->max_msg_size,
            .endpoints = i.domain_attr->ep_cnt,
            .most_sends = i.tx_attr->size,
            .most_receives = i.rx_attr->size};
}

}  // namespace

std::optional<std::vector<rdma_offer>> rdma_offers() {
    fi_info *found = nullptr;
    const int error = libfabric().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, nullptr, &found);
    const fabric_handle<fi_info> first(found);
    std::vector<rdma_offer> offers;
    if (error == -FI_ENODATA) return offers;
    check_fabric("libfabric", error, "asking what its providers offer");
    for (const fi_info *i = found; i != nullptr; i = i->next) {
        rdma_offer offer = offer_of(*i);
        const auto is_same = [&](const rdma_offer &o) {
            return o.provider == offer.provider && o.type == offer.type && o.domain == offer.domain;
        };
        if (!offer.type.empty() && std::ranges::none_of(offers, is_same)) offers.push_back(std::move(offer));
    }
    return offers;
}

}  // namespace wt
