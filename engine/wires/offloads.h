// What an ethdev's driver does for us, where it is asked and can: checksums, and how it frees what was sent.
#pragma once

#include <rte_ethdev.h>

#include <string>
#include <vector>

#include "wires/port.h"
#include "wires/wire.h"

namespace wt {

// Before rte_eth_dev_configure: asks for those of `asked` ("rx_checksum", "tx_checksum", "fast_free") that
// the driver has, and notes who does what.
void ask_for_offloads(port &made, const endpoint_plan &e, const std::vector<std::string> &asked,
                      const rte_eth_dev_info &info, rte_eth_conf &conf);

}  // namespace wt
