// Between port.cc and the kinds of port: each kind makes its ethdev, port.cc configures and starts it.
#pragma once

#include <array>

#include "plan/plan.h"
#include "ports/port.h"

namespace wt {

// All throw refusal. `index` is the endpoint's place in the plan and tells devices apart.
port make_null(const endpoint_plan &e, size_t index, rte_mempool *pool);
port make_pcap(const endpoint_plan &e, size_t index, rte_mempool *pool);
port make_af_packet(const endpoint_plan &e, size_t index, rte_mempool *pool);
port make_af_xdp(const endpoint_plan &e, size_t index, rte_mempool *pool);
port make_tap(const endpoint_plan &e, size_t index, rte_mempool *pool);
port make_memif(const endpoint_plan &e, size_t index, rte_mempool *pool);
port make_pci(const endpoint_plan &e);
// Both ends of a ring wire: what endpoint 0 sends, endpoint 1 receives, and the other way.
std::array<port, 2> make_rings(const plan &p, const std::vector<rte_mempool *> &pools);

// What a NIC is asked for before rte_eth_dev_configure, with notes of what it gives; and what must hold once
// it has started.
void ask_for_offloads(port &made, const endpoint_plan &e, const rte_eth_dev_info &info, rte_eth_conf &conf);
void ask_for_mtu(const port &made, uint16_t mtu, const rte_eth_dev_info &info, rte_eth_conf &conf);
void check_one_mbuf_a_frame(const port &made, uint16_t mtu);
// Whether this driver writes its tail register exactly once for each burst that sent something, so that bursts
// count doorbells. Only drivers that were held against a trace of their registers (tests/guest) are named.
bool rings_once_a_burst(const std::string &driver);

// Who speaks in notes and refusals: the driver, and where there may be two of it, which NIC.
std::string name_of(const port &p);

// The driver of an af_xdp port has started: from here on its rings are watched, so that what it keeps can be
// given back.
void watch_rings(port &made, rte_mempool *pool);

// Makes a virtual device of `driver` and fills id, device and driver of the port. Throws refusal in words: a
// driver that is not installed, one that does not want these arguments (its own words are in the engine's
// log).
void make_vdev(port &made, const char *driver, size_t index, const std::string &arguments);

// A value for a vdev's arguments, where commas and brackets separate. Throws refusal naming `key` where it
// holds one.
const std::string &vdev_value(const char *key, const std::string &value);

// Bytes of a frame that fit one mbuf of the pool.
uint32_t frame_room(rte_mempool *pool);

}  // namespace wt
