// Configures, starts, waits for and closes ports, whatever kind they are.
#include "ports/port.h"

#include <rte_bus_vdev.h>
#include <rte_errno.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/refusal.h"
#include "ports/kinds.h"
#include "ports/steering.h"

namespace wt {

namespace {

constexpr uint32_t drain_burst = 64;
constexpr timespec poll_pause = {0, 10'000'000};
constexpr uint32_t polls_to_restart = 200;  // 2 s: a handshake takes milliseconds
constexpr uint32_t polls_for_a_nic =
    1000;  // 10 s: autonegotiation takes seconds; DPDK's own programs wait 9 s

void check(const port &made, int error, const std::string &what) {
    if (error < 0)
        throw refusal(name_of(made) + ": " + what + ": " + rte_strerror(-error),
                      "the driver's own words are in the engine's log");
}

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
    check(made, rte_eth_dev_adjust_nb_rx_tx_desc(made.id, &d.rx, &d.tx),
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
    if (made.kind != port_kind::pci && (asked.rx_free_thresh || asked.tx_free_thresh || asked.tx_rs_thresh))
        made.notes.push_back(made.driver +
                             " is a software driver: it takes thresholds and does nothing with them");
    const std::string of_rx = thresholds_of({{"rx_free_thresh", asked.rx_free_thresh}});
    const std::string of_tx =
        thresholds_of({{"tx_free_thresh", asked.tx_free_thresh}, {"tx_rs_thresh", asked.tx_rs_thresh}});
    for (uint16_t q = 0; q < asked.queues; q++) {
        const std::string queue = "queue " + std::to_string(q) + " with ";
        check(made, rte_eth_rx_queue_setup(made.id, q, d.rx, pool->socket_id, &rx, pool),
              "receive " + queue + std::to_string(d.rx) + " descriptors" + of_rx + " (it takes " +
                  limits_of(info.rx_desc_lim) + ")");
        check(made, rte_eth_tx_queue_setup(made.id, q, d.tx, pool->socket_id, &tx),
              "transmit " + queue + std::to_string(d.tx) + " descriptors" + of_tx + " (it takes " +
                  limits_of(info.tx_desc_lim) + ")");
    }
}

// Drivers that would change the kernel's interface for it, or have no MAC; their frames come anyway.
bool leaves_the_mac(port_kind kind) {
    return kind == port_kind::af_packet || kind == port_kind::memif || kind == port_kind::af_xdp ||
           kind == port_kind::tap;
}

// Our MAC, where the driver lets; else every frame is taken.
void set_mac(const port &made, const mac_address &mac) {
    if (leaves_the_mac(made.kind)) return;
    rte_ether_addr address;
    std::memcpy(address.addr_bytes, mac.bytes, sizeof mac.bytes);
    const int set = rte_eth_dev_default_mac_addr_set(made.id, &address);
    if (set == 0) return;
    if (set != -ENOTSUP) check(made, set, "setting the MAC");
    // a driver that has neither filters nothing
    if (const int all = rte_eth_promiscuous_enable(made.id); all != -ENOTSUP)
        check(made, all, "taking every frame");
}

void note_what_it_sends(port &made, const endpoint_plan &e) {
    const char *side = side_names[static_cast<int>(e.side)];
    char words[160];
    if (!e.port.udp_checksum) made.notes.push_back(std::string("UDP checksums of what the ") + side + " sends are 0: none (RFC 768)");
    if (e.port.faults) {
        const fault_plan &f = *e.port.faults;
        std::snprintf(words, sizeof words,
                      "emulated on what the %s sends: loss %g, duplication %g, reordering %g (by up to %u packets)", side,
                      f.loss, f.duplicate, f.reorder, f.reorder_depth);
        made.notes.push_back(words);
    }
    if (e.port.link) {
        const link_plan &l = *e.port.link;
        std::snprintf(words, sizeof words, "emulated on what the %s sends: a link of %g bit/s, %llu ns, a queue of %u packets",
                      side, l.bits_per_s.value_or(0), static_cast<unsigned long long>(l.delay_ns), l.queue);
        made.notes.push_back(words);
    }
}

void configure(port &made, const endpoint_plan &e, rte_mempool *pool) {
    rte_eth_dev_info info;
    made.queues = e.port.queues;
    check(made, rte_eth_dev_info_get(made.id, &info), "asking the driver");
    made.driver = info.driver_name;
    made.has_doorbells = made.kind == port_kind::pci && rings_once_a_burst(made.driver);
    if (const unsigned most = std::min(info.max_rx_queues, info.max_tx_queues); made.queues > most)
        throw refusal(name_of(made) + ": " + std::to_string(made.queues) + " queues, it has at most " +
                          std::to_string(most),
                      "fewer dispatchers: each is a queue");
    rte_eth_conf conf{};
    rss_setup rss;
    if (made.kind == port_kind::pci) {
        ask_for_offloads(made, e, info, conf);
        ask_for_mtu(made, e.mtu, info, conf);
        rss = rss_for_ports(info, e.udp_port, made.queues);
        if (made.queues > 1) ask_for_rss(conf, info, rss);
    }
    check(made, rte_eth_dev_configure(made.id, made.queues, made.queues, &conf),
          "configuring " + std::to_string(made.queues) + " queues");
    set_up_queues(made, e.port, pool, info, conf);
    set_mac(made, e.mac);
    note_what_it_sends(made, e);
}

void start(port &made, const endpoint_plan &e) {
    check(made, rte_eth_dev_start(made.id), "starting");
    if (made.kind != port_kind::pci) return;
    rte_eth_dev_info info;
    check(made, rte_eth_dev_info_get(made.id, &info), "asking the driver");
    check_one_mbuf_a_frame(made, e.mtu);
    steer(made, e, info, rss_for_ports(info, e.udp_port, made.queues));
    rte_eth_xstats_reset(made.id);  // a driver that cannot has counted from its start, which is now
}

port make(const endpoint_plan &e, size_t index, rte_mempool *pool) {
    switch (e.port.kind) {
        case port_kind::null:
            return make_null(e, index, pool);
        case port_kind::pcap:
            return make_pcap(e, index, pool);
        case port_kind::af_packet:
            return make_af_packet(e, index, pool);
        case port_kind::af_xdp:
            return make_af_xdp(e, index, pool);
        case port_kind::tap:
            return make_tap(e, index, pool);
        case port_kind::memif:
            return make_memif(e, index, pool);
        case port_kind::pci:
            return make_pci(e);
        case port_kind::ring:
            break;
    }
    throw refusal("a ring wire needs both its ends in one plan");
}

}  // namespace

std::string name_of(const port &p) {
    return p.address.empty() ? p.driver : "NIC " + p.address + " (" + p.driver + ")";
}

std::vector<port> open_ports(const plan &p, const std::vector<rte_mempool *> &pools) {
    struct closing : std::vector<port> {
        ~closing() { close_ports(*this); }
    } made;
    if (p.endpoints.size() == 2 && p.endpoints[0].port.kind == port_kind::ring) {
        for (port &end : make_rings(p, pools)) made.push_back(std::move(end));
    } else {
        for (size_t i = 0; i < p.endpoints.size(); i++) made.push_back(make(p.endpoints[i], i, pools[i]));
    }
    for (size_t i = 0; i < made.size(); i++) {
        configure(made[i], p.endpoints[i], pools[i]);
        if (made[i].starts_after.empty()) start(made[i], p.endpoints[i]);
        if (made[i].kind == port_kind::af_xdp) watch_rings(made[i], pools[i]);
    }
    return std::exchange(static_cast<std::vector<port> &>(made), {});
}

bool wait_for_link(const port &p, bool (*keep_waiting)(void *), void *argument) {
    uint32_t polls = 0;
    for (;;) {
        rte_eth_link link{};
        if (rte_eth_link_get_nowait(p.id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP) return true;
        if (!keep_waiting(argument)) return false;
        if (p.kind == port_kind::pci && ++polls == polls_for_a_nic)
            throw refusal(name_of(p) + ": its link stays down, 10 s after its start",
                          "a cable, and at its other end a port that is up");
        // A start that fails is tried again: the socket may be one that a killed server has left. So is one
        // that has brought no link: the driver does not take up a handshake again that broke off.
        if (!p.starts_after.empty() && ++polls % polls_to_restart == 0) rte_eth_dev_stop(p.id);
        if (!p.starts_after.empty() && access(p.starts_after.c_str(), F_OK) == 0) rte_eth_dev_start(p.id);
        nanosleep(&poll_pause, nullptr);
    }
}

std::string link_words(const port &p) {
    rte_eth_link link{};
    char words[RTE_ETH_LINK_MAX_STR_LEN];
    rte_eth_link_get_nowait(p.id, &link);
    rte_eth_link_to_str(words, sizeof words, &link);
    std::string text = words;
    if (!text.empty()) text[0] = static_cast<char>(std::tolower(text[0]));
    return text;
}

uint32_t drain_wire(const std::vector<port> &ports, size_t source) {
    if (ports.size() != 2 || ports[source].kind != port_kind::ring) return 0;
    const port &receiver = ports[1 - source];
    uint32_t freed = 0;
    for (uint16_t q = 0; q < receiver.queues; q++) {
        rte_mbuf *burst[drain_burst];
        while (const uint16_t count = rte_eth_rx_burst(receiver.id, q, burst, drain_burst)) {
            rte_pktmbuf_free_bulk(burst, count);
            freed += count;
        }
    }
    return freed;
}

void close_ports(std::vector<port> &ports) {
    for (size_t i = 0; i < ports.size(); i++) drain_wire(ports, i);
    for (port &p : ports) {
        rte_eth_dev_stop(p.id);
        rte_eth_dev_close(p.id);
        if (!p.device.empty()) rte_vdev_uninit(p.device.c_str());
    }
    ports.clear();
}

}  // namespace wt
