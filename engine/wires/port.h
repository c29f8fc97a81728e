// A port that one endpoint owns, opened from the plan by its wire: an ethdev, or another transport, which
// brings its own operations.
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

struct port;
struct timed_capture;
struct wire;

// How nic_rx and nic_tx move a burst where the port is no ethdev. `queue` is the port's own (port::channels).
// Both return how many packets they moved; a sender keeps the others.
struct queue_ops {
    uint16_t (*rx)(void *queue, rte_mbuf **packets, uint16_t most);
    uint16_t (*tx)(void *queue, rte_mbuf **packets, uint16_t count);
};

enum class link_state : uint8_t { unknown, down, up };
using named_counts = std::vector<std::pair<std::string, uint64_t>>;

// What is asked of an open port beside its packets. Those without "required" may be left out.
struct port_operations {
    link_state (*link)(const port &p) = nullptr;          // required
    std::string (*words)(const port &p) = nullptr;        // required: the link, in words
    uint64_t (*missed)(const port &p) = nullptr;          // required: packets that found no room
    uint64_t (*failed)(const port &p) = nullptr;          // packets whose send ended with an error
    named_counts (*statistics)(const port &p) = nullptr;  // its own counters that are not zero
    uint32_t (*drain)(const port &sender, const port &receiver) = nullptr;  // see drain_wire()
    void (*close)(port &p) = nullptr;                                       // required
};
extern const port_operations ethdev_operations;

struct port {
    const struct wire *wire = nullptr;
    const port_operations *operations = &ethdev_operations;  // its wire's
    uint16_t id = 0;                                         // of an ethdev
    uint16_t queues = 0;
    mac_address mac{};                    // of its endpoint where the port is an ethdev
    const queue_ops *queue = nullptr;     // of a transport that is no ethdev; null: an ethdev
    std::vector<void *> channels = {};    // of such a transport: one for each queue
    std::string driver = {};              // as the ethdev or the transport says
    bool one_sided = false;               // requests are responded to by no packet of the server's
    uint64_t tx_checksums = 0;            // RTE_MBUF_F_TX_*: those that it computes; 0: none
    bool checks_received = false;         // it says of checksums of received frames whether they hold
    bool has_doorbells = false;           // whether bursts count them; false: "not available", not zero
    const char *lost_as = nullptr;        // how the ledger drops what does not arrive; null: it is missing
    std::vector<std::string> notes = {};  // what a reader of the numbers must know

    std::string address = {};    // of a NIC
    std::string interface = {};  // of the kernel, that the port is on
    std::string device = {};     // on the vdev bus; empty where there is none to remove
    // a memif server's socket: its client's driver cannot start before that is there
    std::string starts_after = {};
    std::shared_ptr<const timed_capture> paced = {};  // pcap at its own times: what nic_rx plays
    std::shared_ptr<void> keeps = {};                 // what has to live as long as the port
};

}  // namespace wt
