// A port: an ethdev that one endpoint owns, opened from the plan by its wire.
#pragma once

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace wt {

struct timed_capture;
struct wire;

struct port {
    const struct wire *wire = nullptr;
    uint16_t id = 0;  // ethdev
    uint16_t queues = 0;
    std::string driver = {};              // as the ethdev says
    bool has_doorbells = false;           // whether bursts count them; false: "not available", not zero
    std::vector<std::string> notes = {};  // what a reader of the numbers must know

    std::string address = {};  // of a NIC
    std::string device = {};   // on the vdev bus; empty where there is none to remove
    // a memif server's socket: its client's driver cannot start before that is there
    std::string starts_after = {};
    std::shared_ptr<const timed_capture> paced = {};  // pcap at its own times: what nic_rx plays
    std::shared_ptr<void> keeps = {};                 // what has to live as long as the ethdev
};

// Opens the ports of all endpoints, configures queues and descriptors, starts those that need not wait for
// their peer. pools[i] is endpoint i's mbuf pool. Throws refusal.
std::vector<port> open_ports(const plan &p, const std::vector<rte_mempool *> &pools);

// Waits until the link is up or `keep_waiting()` says no; returns whether it is up. Software ports without a
// peer are up at once. Throws refusal where the wire gives up.
bool wait_for_link(const port &p, bool (*keep_waiting)(void *), void *argument);

// A NIC's link in words: "link up at 10 Gbps FDX Autoneg".
std::string link_words(const port &p);

// The driver's own counters since the start that are not zero, by its names for them.
std::vector<std::pair<std::string, uint64_t>> extended_statistics(const port &p);

// Whether what one endpoint sends and the other has not received can be found: both ends are in this process.
bool is_pair(const std::vector<port> &ports);

// Frees what is still on the wire of a pair and returns how many packets that were, for packets from endpoint
// `source`.
uint32_t drain_wire(const std::vector<port> &ports, size_t source);

void close_ports(std::vector<port> &ports);

}  // namespace wt
