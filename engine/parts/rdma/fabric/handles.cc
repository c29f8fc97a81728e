#include "parts/rdma/fabric/handles.h"

#include "core/refusal.h"

namespace wt {

void check_fabric(const std::string &provider, int64_t error, const std::string &what) {
    if (error >= 0) return;
    throw refusal(
        "rdma wire: " + provider + ": " + what + ": " + libfabric().strerror(static_cast<int>(-error)),
        "FI_LOG_LEVEL=warn in the environment shows the provider's own words in engine.log");
}

fabric_handle<fid_cq> open_completions(const std::string &provider, fid_domain *domain, size_t places) {
    fi_cq_attr of_queue{};
    of_queue.size = places;
    of_queue.format = FI_CQ_FORMAT_MSG;
    of_queue.wait_obj = FI_WAIT_NONE;
    return make_fabric<fid_cq>(provider, "opening a completion queue",
                               [&](fid_cq **made) { return fi_cq_open(domain, &of_queue, made, nullptr); });
}

fabric_handle<fid_av> open_addresses(const std::string &provider, fid_domain *domain) {
    fi_av_attr table{};
    table.type = FI_AV_TABLE;
    table.count = 1;
    return make_fabric<fid_av>(provider, "opening the address table",
                               [&](fid_av **made) { return fi_av_open(domain, &table, made, nullptr); });
}

fabric_handle<fid_eq> open_events(const std::string &provider, fid_fabric *fabric) {
    fi_eq_attr of_events{};
    of_events.wait_obj = FI_WAIT_NONE;
    return make_fabric<fid_eq>(provider, "opening the event queue",
                               [&](fid_eq **made) { return fi_eq_open(fabric, &of_events, made, nullptr); });
}

}  // namespace wt
