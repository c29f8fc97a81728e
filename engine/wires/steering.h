// Which queue of a NIC a frame comes to: UDP port `first + q` to queue q, by rte_flow rules or by RSS.
//
// RSS alone spreads flows over the queues as its hash pleases. A key with a single bit set makes Toeplitz's
// hash look at nothing but the last bits of the destination port, so that the table of queues can be written
// port by port.
#pragma once

#include <rte_ethdev.h>

#include <cstdint>
#include <string>
#include <vector>

#include "wires/port.h"

namespace wt {

// The way that is asked for: rte_flow rules, RSS, or rules where the driver takes them.
enum class steering : uint8_t { automatic, flow, rss };

// What is to be told the driver for RSS; without a table where it has none that can be written.
struct rss_setup {
    std::vector<uint8_t> key;
    std::vector<uint16_t> queue_of_entry;
};

// Whether the driver hashes UDP ports at all.
bool hashes_udp(const rte_eth_dev_info &info);

rss_setup rss_for_ports(const rte_eth_dev_info &info, uint16_t first_port, uint16_t queues);

// Before rte_eth_dev_configure: asks for RSS where several queues may need it. `setup` must live until then.
void ask_for_rss(rte_eth_conf &conf, const rte_eth_dev_info &info, const rss_setup &setup);

// After the start: steers, and notes how. Throws refusal where the way asked for, or every way, is closed.
void steer(port &made, uint16_t first_port, enum steering way, const rte_eth_dev_info &info,
           const rss_setup &setup);

}  // namespace wt
