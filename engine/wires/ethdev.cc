// Ports that are ethdevs: configures and starts them, and what is asked of one that is open.
#include <rte_bus_vdev.h>
#include <rte_errno.h>

#include <algorithm>
#include <cctype>

#include "core/refusal.h"
#include "wires/device.h"

namespace wt {

namespace {

std::string limits_of(const rte_eth_desc_lim &limit) {
    return std::to_string(limit.nb_min) + " to " + std::to_string(limit.nb_max) + ", a multiple of " +
           std::to_string(limit.nb_align);
}

struct descriptors {
    uint16_t rx, tx;
};

// " and tx_rs_thresh 64": a driver that refuses its queue may mean these.
std::string thresholds_of(std::initializer_list<std::pair<const char *, std::optional<uint16_t>>> given) {
    std::string words;
    for (const auto &[name, value] : given)
        if (value) words += std::string(" and ") + name + " " + std::to_string(*value);
    return words;
}

descriptors agree_on_descriptors(port &made, const port_plan &asked, const rte_eth_dev_info &info) {
    descriptors d{asked.rx_descriptors, asked.tx_descriptors};
    check_device(made, rte_eth_dev_adjust_nb_rx_tx_desc(made.id, &d.rx, &d.tx),
                 std::to_string(asked.rx_descriptors) + " rx and " + std::to_string(asked.tx_descriptors) +
                     " tx descriptors (it takes rx " + limits_of(info.rx_desc_lim) + "; tx " +
                     limits_of(info.tx_desc_lim) + ")");
    if (d.rx != asked.rx_descriptors)
        made.notes.push_back("asked " + std::to_string(asked.rx_descriptors) +
                             " rx descriptors, the driver gives " + std::to_string(d.rx));
    if (d.tx != asked.tx_descriptors)
        made.notes.push_back("asked " + std::to_string(asked.tx_descriptors) +
                             " tx descriptors, the driver gives " + std::to_string(d.tx));
    return d;
}

void set_up_queues(port &made, const port_plan &asked, rte_mempool *pool, const rte_eth_dev_info &info,
                   const rte_eth_conf &conf) {
    const descriptors d = agree_on_descriptors(made, asked, info);
    rte_eth_rxconf rx = info.default_rxconf;
    rte_eth_txconf tx = info.default_txconf;
    rx.offloads = conf.rxmode.offloads;
    tx.offloads = conf.txmode.offloads;
    if (asked.rx_free_thresh) rx.rx_free_thresh = *asked.rx_free_thresh;
    if (asked.tx_free_thresh) tx.tx_free_thresh = *asked.tx_free_thresh;
    if (asked.tx_rs_thresh) tx.tx_rs_thresh = *asked.tx_rs_thresh;
    if (!has(*made.wire, WT_WIRE_NIC) && (asked.rx_free_thresh || asked.tx_free_thresh || asked.tx_rs_thresh))
        made.notes.push_back(made.driver + " is a software driver: it accepts thresholds and ignores them");
    const std::string of_rx = thresholds_of({{"rx_free_thresh", asked.rx_free_thresh}});
    const std::string of_tx =
        thresholds_of({{"tx_free_thresh", asked.tx_free_thresh}, {"tx_rs_thresh", asked.tx_rs_thresh}});
    for (uint16_t q = 0; q < asked.queues; q++) {
        const std::string queue = "queue " + std::to_string(q) + " with ";
        check_device(made, rte_eth_rx_queue_setup(made.id, q, d.rx, pool->socket_id, &rx, pool),
                     "receive " + queue + std::to_string(d.rx) + " descriptors" + of_rx + " (it takes " +
                         limits_of(info.rx_desc_lim) + ")");
        check_device(made, rte_eth_tx_queue_setup(made.id, q, d.tx, pool->socket_id, &tx),
                     "transmit " + queue + std::to_string(d.tx) + " descriptors" + of_tx + " (it takes " +
                         limits_of(info.tx_desc_lim) + ")");
    }
}

// Packets whose bodies are parts of a source are chains of two mbufs.
void ask_for_chains(const port &made, const rte_eth_dev_info &info, rte_eth_conf &conf) {
    if (!(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS))
        throw refusal(name_of(made) + " takes no packets of several mbufs, as way = \"zero\" makes them",
                      "use another wire, or another way of the copies");
    conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
}

}  // namespace

link_state link_of_device(const port &p) {
    rte_eth_link link{};
    if (rte_eth_link_get_nowait(p.id, &link) != 0) return link_state::unknown;
    return link.link_status == RTE_ETH_LINK_UP ? link_state::up : link_state::down;
}

std::string words_of_device(const port &p) {
    rte_eth_link link{};
    char words[RTE_ETH_LINK_MAX_STR_LEN];
    if (rte_eth_link_get_nowait(p.id, &link) != 0) return "the link's state is unknown";
    rte_eth_link_to_str(words, sizeof words, &link);
    std::string text = words;
    if (!text.empty()) text[0] = static_cast<char>(std::tolower(text[0]));
    return text;
}

uint64_t missed_by_device(const port &p) {
    rte_eth_stats counted{};
    rte_eth_stats_get(p.id, &counted);
    return counted.imissed;
}

void close_device(port &made) {
    rte_eth_dev_stop(made.id);
    rte_eth_dev_close(made.id);
    if (!made.device.empty()) rte_vdev_uninit(made.device.c_str());
}

const port_operations ethdev_operations = {
    .link = link_of_device,
    .words = words_of_device,
    .missed = missed_by_device,
    .close = close_device,
};

std::string name_of(const port &p) {
    return p.address.empty() ? p.driver : "NIC " + p.address + " (" + p.driver + ")";
}

void check_device(const port &made, int error, const std::string &what) {
    if (error < 0)
        throw refusal(name_of(made) + ": " + what + ": " + rte_strerror(-error),
                      "see the driver's messages in engine.log");
}

void start_device(port &made) { check_device(made, rte_eth_dev_start(made.id), "starting"); }

void configure_device(port &made, const wire_end &end) {
    const endpoint_plan &e = end.plan;
    rte_eth_dev_info info;
    made.queues = e.port.queues;
    check_device(made, rte_eth_dev_info_get(made.id, &info), "asking the driver");
    made.driver = info.driver_name;
    if (const unsigned most = std::min(info.max_rx_queues, info.max_tx_queues); made.queues > most)
        throw refusal(name_of(made) + ": " + std::to_string(made.queues) + " queues, it has at most " +
                          std::to_string(most),
                      "use fewer dispatchers: each has one queue");
    rte_eth_conf conf{};
    if (end.kind.configure) end.kind.configure(made, end, info, conf);
    if (e.port.chains) ask_for_chains(made, info, conf);
    check_device(made, rte_eth_dev_configure(made.id, made.queues, made.queues, &conf),
                 "configuring " + std::to_string(made.queues) + " queues");
    set_up_queues(made, e.port, end.pool, info, conf);
    agree_on_mac(made, e);
}

}  // namespace wt
