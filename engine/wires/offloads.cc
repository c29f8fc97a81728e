#include "wires/offloads.h"

#include <algorithm>

#include "wires/device.h"

namespace wt {

namespace {

// Of which protocols somebody does the checksums.
struct protocols {
    bool udp, ip;
    bool any() const { return udp || ip; }
};

std::string names_of(protocols p) { return p.udp && p.ip ? "UDP and IPv4" : p.udp ? "UDP" : "IPv4"; }

// "the port computes UDP checksums, disp_tx those of IPv4".
std::string shares(const char *verb, protocols ports, protocols all, const char *stage) {
    const protocols ours{all.udp && !ports.udp, all.ip && !ports.ip};
    std::string words;
    if (ports.any()) words = std::string("the port ") + verb + " " + names_of(ports) + " checksums";
    if (ours.any())
        words += words.empty() ? std::string(stage) + " " + verb + " " + names_of(ours) + " checksums"
                               : ", " + std::string(stage) + " those of " + names_of(ours);
    return words;
}

// NICs count where IPv4 begins from the end of an untagged header, as leave_checksums_to_port() says it.
// What stands elsewhere, or is no IPv4, is ours to sum.
bool has_plain_headers(const endpoint_plan &e) { return !e.vlan && !e.ip.is_v6; }

// Without UDP's, whose bytes are many, IPv4's is not worth asking for.
protocols ask_for_tx_checksums(port &made, const endpoint_plan &e, const rte_eth_dev_info &info,
                               rte_eth_conf &conf) {
    constexpr uint64_t udp = RTE_ETH_TX_OFFLOAD_UDP_CKSUM, ip = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
    if (!e.port.udp_checksum || !(info.tx_offload_capa & udp)) return {};
    const uint64_t given = info.tx_offload_capa & (udp | ip);
    conf.txmode.offloads |= given;
    made.tx_checksums = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
    if (given & ip) made.tx_checksums |= RTE_MBUF_F_TX_IP_CKSUM;
    return {true, (given & ip) != 0};
}

protocols ask_for_rx_checksums(port &made, const rte_eth_dev_info &info, rte_eth_conf &conf) {
    constexpr uint64_t udp = RTE_ETH_RX_OFFLOAD_UDP_CKSUM, ip = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
    if (!(info.rx_offload_capa & udp)) return {};
    const uint64_t given = info.rx_offload_capa & (udp | ip);
    conf.rxmode.offloads |= given;
    made.checks_received = true;
    return {true, (given & ip) != 0};
}

// The driver gives back mbufs without a look at them: to the pool of the first one, and none may have another
// owner. Bodies that are sent without a copy have a pool of their own, and are no bytes of their mbuf.
bool may_be_freed_fast(const endpoint_plan &e) { return !e.port.chains; }

}  // namespace

void ask_for_offloads(port &made, const endpoint_plan &e, const std::vector<std::string> &asked,
                      const rte_eth_dev_info &info, rte_eth_conf &conf) {
    const auto wants = [&](const char *name) { return std::ranges::find(asked, name) != asked.end(); };
    const std::string who = name_of(made) + ": ";
    const bool plain = has_plain_headers(e), v4 = !e.ip.is_v6;
    const protocols tx = plain && wants("tx_checksum") ? ask_for_tx_checksums(made, e, info, conf)
                                                       : protocols{},
                    rx = plain && wants("rx_checksum") ? ask_for_rx_checksums(made, info, conf) : protocols{};
    made.notes.push_back(
        who + "UDP packets that it sends: " + shares("computes", tx, {e.port.udp_checksum, v4}, "disp_tx") +
        "; that it receives: " + shares("checks", rx, {true, v4}, "disp_rx"));
    if (!wants("fast_free")) return;
    if (!may_be_freed_fast(e)) {
        made.notes.push_back(who + "no fast_free: bodies are sent without a copy, from a pool of their own");
    } else if (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) {
        conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
        made.notes.push_back(who + "fast_free: it gives mbufs back to their pool unseen");
    } else {
        made.notes.push_back(who + "it has no fast_free");
    }
}

}  // namespace wt
