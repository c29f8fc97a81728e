// A wire: its data (windtunnel/wire.h) and its hooks. One file a wire; `wires` in meson.build is the only
// list of them.
//
// The hooks run on the control path. Packets are moved by the stages nic_rx and nic_tx, which call the ethdev
// that `open` made. A transport that is no ethdev brings the same data and these hooks, and its ports their
// own functions for the two stages (port::queue).
#pragma once

#include <windtunnel/wire.h>

#include <span>
#include <vector>

#include "plan/plan.h"
#include "wires/options.h"
#include "wires/port.h"

namespace wt {

// One end that is to be opened.
struct wire_end {
    const wire &kind;
    const endpoint_plan &plan;
    size_t index;  // in the plan: it makes device names unique
    rte_mempool *pool;
    wire_values values;            // of all options
    const std::string &plan_hash;  // the same on both sides of a run
};

// All hooks throw refusal. Those without "required" may be left out.
struct wire {
    wt_wire about;

    // Required: makes the port of an end and what belongs to it; of both ends where they are opened
    // together.
    std::vector<port> (*open)(std::span<const wire_end> ends);

    // The NUMA node of the device behind an end, before it is opened; -1: not known. Without it there is no
    // device.
    int (*node)(const wire_values &values) = nullptr;

    // Of an ethdev: what is asked of the driver before rte_eth_dev_configure, with notes of what it gives.
    void (*configure)(port &made, const wire_end &end, const rte_eth_dev_info &info,
                      rte_eth_conf &conf) = nullptr;

    // Queues are set up. Without it an ethdev is started.
    void (*start)(port &made, const wire_end &end) = nullptr;

    // The link was looked at for the `looks`th time and is down still.
    void (*await_link)(const port &made, uint32_t looks) = nullptr;

    // What is asked of its ports. `drain` is required where mbufs change hands.
    const port_operations *operations = &ethdev_operations;
};

// Defines the wire of a file: WT_WIRE(null) = {.about = {...}, .open = open_null};
#define WT_WIRE(name)              \
    extern const wire wire_##name; \
    const wire wire_##name

inline bool has(const wire &w, wt_wire_flags flag) { return (w.about.flags & flag) != 0; }

}  // namespace wt
