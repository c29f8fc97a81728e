// For the wires that are ethdevs: what several of them do in the same way.
#pragma once

#include <string>

#include "wires/port.h"
#include "wires/wire.h"

namespace wt {

// Who is named in notes and refusals: the driver, and where there may be two of it, which NIC.
std::string name_of(const port &p);

// Throws refusal where a call to the driver has failed: "net_tap: starting: ...".
void check_device(const port &made, int error, const std::string &what);

// Asks the driver for what the plan wants and sets up its queues. Throws refusal.
void configure_device(port &made, const wire_end &end);
void start_device(port &made);

// The MAC of the endpoint on the port: the plan's, which the driver is told, or the port's own where the plan
// has none. Throws refusal where the port would be deaf to it.
void agree_on_mac(port &made, const endpoint_plan &e);

// The operations of an ethdev.
link_state link_of_device(const port &p);
std::string words_of_device(const port &p);
uint64_t missed_by_device(const port &p);
void close_device(port &made);

// Makes a virtual device of `driver` and fills id and device of the port. Throws refusal in words: a
// driver that is not installed, one that does not want these arguments (its own words are in the engine's
// log).
void make_vdev(port &made, const char *driver, size_t index, const std::string &arguments);

// A value for a vdev's arguments, where commas and brackets separate. Throws refusal naming `key` where it
// holds one.
const std::string &vdev_value(const char *key, const std::string &value);

// Bytes of a frame that fit one mbuf of the pool.
uint32_t frame_room(rte_mempool *pool);

}  // namespace wt
