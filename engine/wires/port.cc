// Configures, starts, waits for and closes ports of any kind.
#include "wires/port.h"

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
#include "wires/device.h"
#include "wires/planned.h"
#include "wires/registry.h"

namespace wt {

namespace {

constexpr timespec poll_pause = {0, 10'000'000};

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

// Our MAC, where the driver lets; else every frame is taken.
void set_mac(const port &made, const mac_address &mac) {
    if (has(*made.wire, WT_WIRE_LEAVES_MAC)) return;
    rte_ether_addr address;
    std::memcpy(address.addr_bytes, mac.bytes, sizeof mac.bytes);
    const int set = rte_eth_dev_default_mac_addr_set(made.id, &address);
    if (set == 0) return;
    if (set != -ENOTSUP) check_device(made, set, "setting the MAC");
    // a driver that has neither filters nothing
    if (const int all = rte_eth_promiscuous_enable(made.id); all != -ENOTSUP)
        check_device(made, all, "taking every frame");
}

void note_what_it_sends(port &made, const endpoint_plan &e) {
    const char *side = side_names[static_cast<int>(e.side)];
    char words[160];
    if (!e.port.udp_checksum)
        made.notes.push_back(std::string("UDP checksums of what the ") + side +
                             " sends are 0: none (RFC 768)");
    if (e.port.faults) {
        const fault_plan &f = *e.port.faults;
        std::snprintf(
            words, sizeof words,
            "emulated on what the %s sends: loss %g, duplication %g, reordering %g (by up to %u packets)",
            side, f.loss, f.duplicate, f.reorder, f.reorder_depth);
        made.notes.push_back(words);
    }
    if (e.port.link) {
        const link_plan &l = *e.port.link;
        std::snprintf(words, sizeof words,
                      "emulated on what the %s sends: a link of %g bit/s, %llu ns, a queue of %u packets",
                      side, l.bits_per_s.value_or(0), static_cast<unsigned long long>(l.delay_ns), l.queue);
        made.notes.push_back(words);
    }
}

// Packets whose bodies are parts of a source are chains of two mbufs.
void ask_for_chains(const port &made, const rte_eth_dev_info &info, rte_eth_conf &conf) {
    if (!(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS))
        throw refusal(name_of(made) + " takes no packets of several mbufs, as way = \"zero\" makes them",
                      "use another wire, or another way of the copies");
    conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
}

void configure(port &made, const wire_end &end) {
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
    set_mac(made, e.mac);
    note_what_it_sends(made, e);
}

// What the wire's limits and a plan come to, before anything is opened.
void check_limits(const wire_end &end) {
    const wt_wire &about = end.kind.about;
    const std::string who = std::string(about.name) + " wire: ";
    if (end.plan.port.queues > about.most_queues)
        throw refusal(who + "a port has at most " + std::to_string(about.most_queues) + " queues, not " +
                          std::to_string(end.plan.port.queues),
                      "use fewer dispatchers: each has one queue");
    if (about.most_mtu && end.plan.mtu > about.most_mtu)
        throw refusal(who + "an MTU of " + std::to_string(end.plan.mtu) + " is " + about.mtu_why,
                      "use at most " + std::to_string(about.most_mtu));
}

std::vector<wire_end> ends_of(const plan &p, const std::vector<rte_mempool *> &pools) {
    std::vector<wire_end> ends;
    for (size_t i = 0; i < p.endpoints.size(); i++) {
        const endpoint_plan &e = p.endpoints[i];
        const wire &kind = wire_of(e);
        ends.push_back(
            {kind, e, i, pools[i], {std::string(kind.about.name) + " wire", kind.about, e.port.options}});
        check_limits(ends.back());
    }
    return ends;
}

}  // namespace

std::string name_of(const port &p) {
    return p.address.empty() ? p.driver : "NIC " + p.address + " (" + p.driver + ")";
}

void check_device(const port &made, int error, const std::string &what) {
    if (error < 0)
        throw refusal(name_of(made) + ": " + what + ": " + rte_strerror(-error),
                      "see the driver's messages in engine.log");
}

void start_device(port &made) { check_device(made, rte_eth_dev_start(made.id), "starting"); }

void close_device(port &made) {
    rte_eth_dev_stop(made.id);
    rte_eth_dev_close(made.id);
    if (!made.device.empty()) rte_vdev_uninit(made.device.c_str());
}

std::vector<port> open_ports(const plan &p, const std::vector<rte_mempool *> &pools) {
    check_planned_wires(p);
    const std::vector<wire_end> ends = ends_of(p, pools);
    struct closing : std::vector<port> {
        ~closing() { close_ports(*this); }
    } made;
    for (size_t i = 0; i < ends.size();) {
        const wire &kind = ends[i].kind;
        const size_t count = has(kind, WT_WIRE_TOGETHER) ? ends.size() : 1;
        for (port &one : kind.open(std::span(ends).subspan(i, count))) {
            one.wire = &kind;
            made.push_back(std::move(one));
        }
        i += count;
    }
    for (size_t i = 0; i < made.size(); i++) {
        configure(made[i], ends[i]);
        ends[i].kind.start ? ends[i].kind.start(made[i], ends[i]) : start_device(made[i]);
    }
    return std::exchange(static_cast<std::vector<port> &>(made), {});
}

bool wait_for_link(const port &p, bool (*keep_waiting)(void *), void *argument) {
    for (uint32_t looks = 1;; looks++) {
        rte_eth_link link{};
        if (rte_eth_link_get_nowait(p.id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP) return true;
        if (!keep_waiting(argument)) return false;
        if (p.wire->await_link) p.wire->await_link(p, looks);
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

bool is_pair(const std::vector<port> &ports) {
    return ports.size() == 2 && has(*ports[0].wire, WT_WIRE_MOVES_MBUFS);
}

uint32_t drain_wire(const std::vector<port> &ports, size_t source) {
    return is_pair(ports) ? ports[0].wire->drain(ports[1 - source]) : 0;
}

void close_ports(std::vector<port> &ports) {
    for (size_t i = 0; i < ports.size(); i++) drain_wire(ports, i);
    for (port &p : ports) p.wire->close ? p.wire->close(p) : close_device(p);
    ports.clear();
}

}  // namespace wt
