// A NIC by its PCI address: EAL has probed it, because the plan's EAL arguments name it and no other.
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "core/refusal.h"
#include "wires/device.h"
#include "wires/offloads.h"
#include "wires/steering.h"
#include "wires/wire.h"

namespace wt {

namespace {

constexpr uint32_t looks_for_a_link =
    1000;  // 10 s: autonegotiation takes seconds; DPDK's own programs wait 9 s

constexpr wt_wire_option options[] = {
    {.name = "pci",
     .help = "the NIC's address; of several ports at one address the second one is ADDRESS/1",
     .example = "0000:02:00.0",
     .type = WT_WIRE_PCI,
     .scope = WT_WIRE_OF_ENDPOINT,
     .flags = WT_WIRE_REQUIRED},
    {.name = "steering",
     .fallback = "auto",
     .choices = "auto|flow|rss",
     .help = "how a UDP port reaches its queue; auto: rte_flow if it works, else rss",
     .type = WT_WIRE_CHOICE,
     .scope = WT_WIRE_OF_ENDPOINT},
    {.name = "offloads",
     .fallback = "rx_checksum|tx_checksum|fast_free",
     .choices = "rx_checksum|tx_checksum|fast_free",
     .help = "requested from the NIC; a note says which of them it has. Without rx_checksum and tx_checksum, "
             "disp_rx and disp_tx compute checksums",
     .type = WT_WIRE_WORDS,
     .scope = WT_WIRE_OF_ENDPOINT},
    {},
};
constexpr wt_wire_need needs[] = {
    {.kind = WT_NEEDS_HUGEPAGES, .why = "a NIC needs packets at fixed physical addresses"},
    {.kind = WT_NEEDS_NIC, .option = "pci"},
    {},
};

// The ports of the device, in the order in which its driver made them: a NIC may have several at one address,
// which it names as it likes.
std::vector<uint16_t> ports_of_device(const std::string &address) {
    std::vector<uint16_t> ids;
    uint16_t id;
    RTE_ETH_FOREACH_DEV(id) {
        rte_eth_dev_info info;
        if (rte_eth_dev_info_get(id, &info) == 0 && info.device && rte_dev_name(info.device) == address)
            ids.push_back(id);
    }
    return ids;
}

// Which of its device's ports a text names: 1 of 0000:02:00.0/1. Throws refusal.
size_t number_of(const std::string &text) {
    const size_t slash = text.find('/');
    if (slash == std::string::npos) return 0;
    size_t number = 0;
    const char *const end = text.data() + text.size();
    const auto [stopped, failed] = std::from_chars(text.data() + slash + 1, end, number);
    if (failed != std::errc() || stopped != end)
        throw refusal("NIC " + text + ": what is behind the slash is no number of a port",
                      "use an address, or ADDRESS/1");
    return number;
}

std::vector<port> open_pci(std::span<const wire_end> ends) {
    const std::string &text = ends[0].values.text("pci");
    const std::vector<uint16_t> ids = ports_of_device(text.substr(0, text.find('/')));
    const size_t number = number_of(text);
    if (ids.empty())
        throw refusal(
            "NIC " + text + ": no DPDK driver claimed it",
            "see EAL's messages in engine.log: is the driver for this NIC installed (Debian, Ubuntu: "
            "librte-meta-net), "
            "and may this user open the device?");
    if (number >= ids.size())
        throw refusal("NIC " + text + ": its driver made " + std::to_string(ids.size()) +
                          (ids.size() == 1 ? " port" : " ports") + " at this address",
                      "use a number below " + std::to_string(ids.size()) + ", or none for the first port");
    return {port{.id = ids[number], .address = text}};
}

int node_of_pci(const wire_values &values) {
    const std::string &text = values.text("pci");
    const std::vector<uint16_t> ids = ports_of_device(text.substr(0, text.find('/')));
    const size_t number = number_of(text);
    return number < ids.size() ? rte_eth_dev_socket_id(ids[number]) : SOCKET_ID_ANY;
}

void ask_for_mtu(const port &made, uint16_t mtu, const rte_eth_dev_info &info, rte_eth_conf &conf) {
    if (mtu < info.min_mtu || mtu > info.max_mtu)
        throw refusal(name_of(made) + ": an MTU of " + std::to_string(mtu) + ", it takes " +
                          std::to_string(info.min_mtu) + " to " + std::to_string(info.max_mtu),
                      "use an mtu in this range");
    conf.rxmode.mtu = mtu;
}

// Whether this driver writes its tail register exactly once for each burst that sent something, so that
// bursts count doorbells. Only drivers that were held against a trace of their registers (tests/guest) are
// named.
bool rings_once_a_burst(const std::string &driver) { return driver == "net_e1000_em"; }

void check_one_mbuf_a_frame(const port &made, uint16_t mtu) {
    rte_eth_rxq_info queue{};
    if (rte_eth_rx_queue_info_get(made.id, 0, &queue) == 0 && queue.scattered_rx)
        throw refusal(name_of(made) + ": at an MTU of " + std::to_string(mtu) +
                          " it splits a frame over several mbufs, which the stages do not support",
                      "use a smaller mtu");
}

enum steering way_of(const wire_end &end) {
    const std::string &asked = end.values.text("steering");
    // A rule for IPv4 behind Ethernet leaves it to the driver whether a tag may stand between: RSS looks past
    // it.
    if (asked == "auto" && end.plan.vlan) return steering::rss;
    return asked == "flow" ? steering::flow : asked == "rss" ? steering::rss : steering::automatic;
}

// What is asked for before the start steers after it.
void configure_pci(port &made, const wire_end &end, const rte_eth_dev_info &info, rte_eth_conf &conf) {
    made.has_doorbells = rings_once_a_burst(made.driver);
    ask_for_offloads(made, end.plan, end.values.words("offloads"), info, conf);
    ask_for_mtu(made, end.plan.mtu, info, conf);
    if (made.queues > 1 && end.plan.ip.is_v6)
        throw refusal(name_of(made) + ": what brings a UDP port to its queue is set up for IPv4: over IPv6 " +
                          std::to_string(made.queues) + " queues cannot be separated",
                      "use one dispatcher, which is one queue");
    const auto rss = std::make_shared<rss_setup>(rss_for_ports(info, end.plan.udp_port, made.queues));
    if (made.queues > 1) ask_for_rss(conf, info, *rss);
    made.keeps = rss;
}

void start_pci(port &made, const wire_end &end) {
    start_device(made);
    rte_eth_dev_info info;
    check_device(made, rte_eth_dev_info_get(made.id, &info), "asking the driver");
    check_one_mbuf_a_frame(made, end.plan.mtu);
    steer(made, end.plan.udp_port, way_of(end), info, rss_for_ports(info, end.plan.udp_port, made.queues));
    rte_eth_xstats_reset(made.id);  // a driver that cannot has counted from its start, which is now
}

void await_nic(const port &made, uint32_t looks) {
    if (looks == looks_for_a_link)
        throw refusal(name_of(made) + ": its link is still down 10 s after its start",
                      "connect a cable to a port that is up");
}

// The driver's own counters since the start, by its names for them.
named_counts extended_statistics(const port &p) {
    const int count = rte_eth_xstats_get(p.id, nullptr, 0);
    if (count <= 0) return {};
    std::vector<rte_eth_xstat> values(static_cast<size_t>(count));
    std::vector<rte_eth_xstat_name> names(values.size());
    if (rte_eth_xstats_get(p.id, values.data(), values.size()) != count) return {};
    if (rte_eth_xstats_get_names(p.id, names.data(), static_cast<unsigned>(names.size())) != count) return {};
    named_counts seen;
    for (const rte_eth_xstat &x : values)
        if (x.value && x.id < names.size()) seen.emplace_back(names[x.id].name, x.value);
    return seen;
}

constexpr port_operations operations = {
    .link = link_of_device,
    .words = words_of_device,
    .missed = missed_by_device,
    .statistics = extended_statistics,
    .close = close_device,
};

}  // namespace

WT_WIRE(pci) = {
    .about = {.abi = WT_WIRE_ABI,
              .size = sizeof(wt_wire),
              .name = "pci",
              .help = "a NIC by its PCI address",
              .driver = "the NIC's own",
              .peer = "what the NIC is connected to",
              .copies = "the NIC's DMA",
              .flags = WT_WIRE_SERVER | WT_WIRE_CLIENT | WT_WIRE_FOREIGN_PEER | WT_WIRE_NIC | WT_WIRE_OWN_MAC,
              .most_queues = 64,
              .options = options,
              .needs = needs,
              .mbufs = {.rx = 1, .tx = 1}},  // its receive queue keeps one in each descriptor
    .open = open_pci,
    .node = node_of_pci,
    .configure = configure_pci,
    .start = start_pci,
    .await_link = await_nic,
    .operations = &operations,
};

}  // namespace wt
