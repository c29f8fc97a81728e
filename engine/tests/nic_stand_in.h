// A NIC's driver that does what a test says, linked before DPDK's own functions: what the wire `pci` asks of
// a NIC, and says where it is denied. Starts no EAL. Of one test program: it defines functions.
#pragma once

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include <algorithm>
#include <cstring>

#include "core/refusal.h"
#include "test_tools.h"
#include "valid_plan.h"
#include "wires/device.h"
#include "wires/registry.h"
#include "wires_tools.h"

namespace wt::test {

constexpr rte_ether_addr stand_in_mac = {{0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0x01}};

// What it may do, as an untrusted virtual function may not; 0: well.
struct nic_stand_in {
    rte_eth_dev_info info = {};
    int setting_mac = 0, taking_every_frame = 0;
    rte_ether_addr mac = stand_in_mac;
    bool takes_every_frame = false;
    rte_eth_conf asked = {};  // of rte_eth_dev_configure
    uint16_t queues_set_up = 0;
    std::vector<std::string> devices = {"0000:02:00.0"};  // of each port, by its number in EAL
    uint16_t opened = UINT16_MAX;
};
inline nic_stand_in nic;

// With as many queues as a plan may want, RSS over UDP ports with a table, and every offload.
inline rte_eth_dev_info able_nic() {
    rte_eth_dev_info info{};
    info.driver_name = "net_stand_in";
    info.max_rx_queues = info.max_tx_queues = 64;
    info.min_mtu = 68;
    info.max_mtu = 9000;
    info.rx_desc_lim = info.tx_desc_lim = {.nb_max = 4096, .nb_min = 32, .nb_align = 8};
    info.flow_type_rss_offloads = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
    info.reta_size = 128;
    info.hash_key_size = 40;
    info.rx_offload_capa = info.tx_offload_capa = UINT64_MAX;
    return info;
}

// A server on the NIC, opened as a run opens it.
struct nic_server {
    nlohmann::ordered_json json = valid_plan();
    rte_mempool pool{};
    std::vector<std::string> notes;
    mac_address mac{};
    uint64_t tx_checksums = 0;
    bool checks_received = false;

    explicit nic_server(uint16_t queues = 1) {
        nic = {.info = able_nic()};
        leave_server(json);
        endpoint()["vlan"] = nullptr;
        auto &port = json["endpoints"][0]["port"];
        port.update({{"queues", queues}, {"faults", nullptr}, {"link", nullptr}});
        if (queues == 1) leave_one_queue();
        put_on(json["endpoints"][0], "pci");
    }
    void leave_one_queue() {
        endpoint()["dispatchers"].erase(1);
        endpoint()["applications"][0]["dispatchers"] = {0};
        for (auto &stage : json["workers"][0]["stages"]) stage["index"] = 0;
    }
    nlohmann::ordered_json &endpoint() { return json["endpoints"][0]; }

    // The refusal's words and its remedy; "" where it opens.
    std::string open() {
        const plan p = read_plan(json.dump());
        const endpoint_plan &e = p.endpoints[0];
        const wire &kind = wire_named("pci");
        const wire_end end{kind, e, 0, &pool, {"pci wire", kind.about, e.port.options}, p.hash};
        try {
            port made = kind.open(std::span(&end, 1))[0];
            made.wire = &kind;
            configure_device(made, end);
            kind.start(made, end);
            notes = made.notes;
            mac = made.mac;
            tx_checksums = made.tx_checksums;
            checks_received = made.checks_received;
        } catch (const refusal &r) {
            return std::string(r.what()) + " / " + r.remedy();
        }
        return "";
    }
    bool notes_have(const std::string &part) const {
        return std::ranges::any_of(notes, [&](const std::string &note) { return contains(note, part); });
    }
};

}  // namespace wt::test

extern "C" {

uint64_t rte_eth_find_next_owned_by(uint16_t port, uint64_t) {
    return port < wt::test::nic.devices.size() ? port : RTE_MAX_ETHPORTS;
}
int rte_eth_dev_info_get(uint16_t port, rte_eth_dev_info *info) {
    *info = wt::test::nic.info;
    info->device = reinterpret_cast<rte_device *>(&wt::test::nic.devices[port]);
    return 0;
}
const char *rte_dev_name(const rte_device *device) {
    return reinterpret_cast<const std::string *>(device)->c_str();
}
int rte_eth_dev_configure(uint16_t port, uint16_t, uint16_t, const rte_eth_conf *conf) {
    wt::test::nic.opened = port;
    return wt::test::nic.asked = *conf, 0;
}
int rte_eth_dev_adjust_nb_rx_tx_desc(uint16_t, uint16_t *, uint16_t *) { return 0; }
int rte_eth_rx_queue_setup(uint16_t, uint16_t, uint16_t, unsigned, const rte_eth_rxconf *, rte_mempool *) {
    return wt::test::nic.queues_set_up++, 0;
}
int rte_eth_tx_queue_setup(uint16_t, uint16_t, uint16_t, unsigned, const rte_eth_txconf *) { return 0; }
int rte_eth_dev_default_mac_addr_set(uint16_t, rte_ether_addr *mac) {
    if (wt::test::nic.setting_mac == 0) wt::test::nic.mac = *mac;
    return wt::test::nic.setting_mac;
}
int rte_eth_promiscuous_enable(uint16_t) {
    wt::test::nic.takes_every_frame = wt::test::nic.taking_every_frame == 0;
    return wt::test::nic.taking_every_frame;
}
int rte_eth_macaddr_get(uint16_t, rte_ether_addr *mac) { return *mac = wt::test::nic.mac, 0; }
int rte_eth_dev_start(uint16_t) { return 0; }
int rte_eth_rx_queue_info_get(uint16_t, uint16_t, rte_eth_rxq_info *) { return -ENOTSUP; }
int rte_eth_xstats_reset(uint16_t) { return 0; }
int rte_eth_dev_rss_reta_update(uint16_t, rte_eth_rss_reta_entry64 *, uint16_t) { return 0; }
int rte_flow_flush(uint16_t, rte_flow_error *) { return 0; }
rte_flow *rte_flow_create(uint16_t, const rte_flow_attr *, const rte_flow_item[], const rte_flow_action[],
                          rte_flow_error *error) {
    return error->message = "no rules", nullptr;
}
}
