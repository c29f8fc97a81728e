// A port: an ethdev that one endpoint owns, opened from the plan by one file a kind.
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

struct port {
    port_kind kind = port_kind::null;
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
    std::shared_ptr<void> keeps = {};  // what has to live as long as the ethdev
};

// Opens the ports of all endpoints (both sides of a `ring` wire are made together), configures queues and
// descriptors, starts them. pools[i] is endpoint i's mbuf pool. Throws refusal. Waits for a memif's link in
// wait_for_link(), not here.
std::vector<port> open_ports(const plan &p, const std::vector<rte_mempool *> &pools);

// Waits until the link is up or `keep_waiting()` says no; returns whether it is up. Software ports without a
// peer are up at once; a memif client starts here, because its driver cannot start before the server listens.
// Throws refusal where a NIC's link stays down.
bool wait_for_link(const port &p, bool (*keep_waiting)(void *), void *argument);

// A NIC's link in words: "link up at 10 Gbps FDX Autoneg".
std::string link_words(const port &p);

// The driver's own counters since the start that are not zero, by its names for them.
std::vector<std::pair<std::string, uint64_t>> extended_statistics(const port &p);

// Frees what is still on the wire of a `ring` pair and returns how many packets that were, for packets from
// endpoint `source`.
uint32_t drain_wire(const std::vector<port> &ports, size_t source);

void close_ports(std::vector<port> &ports);

}  // namespace wt
