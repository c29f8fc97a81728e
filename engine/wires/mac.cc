// The MAC of an endpoint: its NIC is told it, or it is the NIC's own.
#include <rte_errno.h>

#include <cstring>

#include "core/refusal.h"
#include "plan/addresses.h"
#include "wires/device.h"

namespace wt {

namespace {

mac_address own_mac(const port &made) {
    rte_ether_addr address{};
    check_device(made, rte_eth_macaddr_get(made.id, &address), "asking for its MAC");
    mac_address mac;
    std::memcpy(mac.bytes, address.addr_bytes, sizeof mac.bytes);
    if (!rte_is_valid_assigned_ether_addr(&address))
        throw refusal(name_of(made) + ": its own MAC is " + text_of(mac) + ", which is no station's",
                      "use a MAC address instead of mac = \"nic\"");
    return mac;
}

[[noreturn]] void refuse_mac(const port &made, const endpoint_plan &e, int error, const std::string &what) {
    throw refusal(name_of(made) + ": " + what + ": " + rte_strerror(-error),
                  std::string("use ") + side_names[static_cast<int>(e.side)] +
                      ".mac = \"nic\": what is sent to the NIC's own MAC comes in");
}

// A NIC that cannot be told a MAC must take every frame. One that may not be told, as a virtual function that
// nobody trusts, may say so of every frame, too, and still be deaf: it is not asked.
void set_mac(port &made, const endpoint_plan &e) {
    rte_ether_addr address;
    std::memcpy(address.addr_bytes, e.mac->bytes, sizeof e.mac->bytes);
    const int set = rte_eth_dev_default_mac_addr_set(made.id, &address);
    if (set == 0) return;
    const bool is_nic = has(*made.wire, WT_WIRE_NIC);
    if (set != -ENOTSUP) {
        if (is_nic) refuse_mac(made, e, set, "it refuses the MAC " + text_of(*e.mac));
        check_device(made, set, "setting the MAC");
    }
    const int all = rte_eth_promiscuous_enable(made.id);
    if (!is_nic) {  // a software driver that has neither filters nothing
        if (all != -ENOTSUP) check_device(made, all, "taking every frame");
        return;
    }
    if (all != 0)
        refuse_mac(made, e, all,
                   "its MAC cannot be set, and it does not take every frame, so that it would be deaf to " +
                       text_of(*e.mac));
    made.notes.push_back(name_of(made) + ": its MAC cannot be set: it takes every frame (promiscuous)");
}

}  // namespace

void agree_on_mac(port &made, const endpoint_plan &e) {
    if (e.mac) {
        made.mac = *e.mac;
        if (!has(*made.wire, WT_WIRE_LEAVES_MAC)) set_mac(made, e);
        return;
    }
    made.mac = own_mac(made);
    made.notes.push_back(std::string("the ") + side_names[static_cast<int>(e.side)] + " has the MAC of " +
                         name_of(made) + ": " + text_of(made.mac));
}

}  // namespace wt
