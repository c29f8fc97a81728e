// A NIC by its PCI address: EAL has probed it, because the plan's EAL arguments name it and no other.
#include "core/refusal.h"
#include "ports/kinds.h"

namespace wt {

namespace {

struct offload_bits {
    const char *name;
    uint64_t rx, tx;
};

// By enum offload. An mbuf that is sent comes from its endpoint's only pool and has no second owner: all that
// fast_free asks.
constexpr offload_bits bits_of[] = {
    {"rx_checksum", RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM, 0},
    {"fast_free", 0, RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE},
};

std::string joined(const std::vector<const char *> &names) {
    std::string text;
    for (const char *name : names) text += (text.empty() ? "" : ", ") + std::string(name);
    return text.empty() ? "none" : text;
}

}  // namespace

port make_pci(const endpoint_plan &e) {
    const std::string &address = e.port.nic->address;
    port made{.kind = port_kind::pci, .address = address};
    if (rte_eth_dev_get_port_by_name(address.c_str(), &made.id) != 0)
        throw refusal("NIC " + address + ": no DPDK driver has taken it",
                      "engine.log has EAL's words: is the driver for this NIC installed (Debian, Ubuntu: "
                      "librte-meta-net), "
                      "and may this user open it?");
    return made;
}

void ask_for_offloads(port &made, const endpoint_plan &e, const rte_eth_dev_info &info, rte_eth_conf &conf) {
    std::vector<const char *> given, denied;
    for (const offload o : e.port.nic->offloads) {
        const offload_bits &bits = bits_of[static_cast<size_t>(o)];
        const bool has =
            (info.rx_offload_capa & bits.rx) == bits.rx && (info.tx_offload_capa & bits.tx) == bits.tx;
        (has ? given : denied).push_back(bits.name);
        if (!has) continue;
        conf.rxmode.offloads |= bits.rx;
        conf.txmode.offloads |= bits.tx;
    }
    made.notes.push_back(name_of(made) + ": offloads given: " + joined(given) +
                         (denied.empty() ? "" : "; asked for, but not there: " + joined(denied)));
    if (conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM)
        made.notes.push_back("rx_checksum: the NIC checks, and disp_rx checks all the same");
}

void ask_for_mtu(const port &made, uint16_t mtu, const rte_eth_dev_info &info, rte_eth_conf &conf) {
    if (mtu < info.min_mtu || mtu > info.max_mtu)
        throw refusal(name_of(made) + ": an MTU of " + std::to_string(mtu) + ", it takes " +
                          std::to_string(info.min_mtu) + " to " + std::to_string(info.max_mtu),
                      "an mtu between these");
    conf.rxmode.mtu = mtu;
}

bool rings_once_a_burst(const std::string &driver) {
    return driver == "net_e1000_em";
}

void check_one_mbuf_a_frame(const port &made, uint16_t mtu) {
    rte_eth_rxq_info queue{};
    if (rte_eth_rx_queue_info_get(made.id, 0, &queue) == 0 && queue.scattered_rx)
        throw refusal(name_of(made) + ": at an MTU of " + std::to_string(mtu) +
                          " it scatters a frame over several mbufs, which the stages do not put together",
                      "a smaller mtu");
}

std::vector<std::pair<std::string, uint64_t>> extended_statistics(const port &p) {
    const int count = rte_eth_xstats_get(p.id, nullptr, 0);
    if (count <= 0) return {};
    std::vector<rte_eth_xstat> values(static_cast<size_t>(count));
    std::vector<rte_eth_xstat_name> names(values.size());
    if (rte_eth_xstats_get(p.id, values.data(), values.size()) != count) return {};
    if (rte_eth_xstats_get_names(p.id, names.data(), static_cast<unsigned>(names.size())) != count) return {};
    std::vector<std::pair<std::string, uint64_t>> seen;
    for (const rte_eth_xstat &x : values)
        if (x.value && x.id < names.size()) seen.emplace_back(names[x.id].name, x.value);
    return seen;
}

}  // namespace wt
