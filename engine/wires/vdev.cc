#include <rte_bus_vdev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include <cstdlib>

#include "core/refusal.h"
#include "wires/device.h"

namespace wt {

namespace {

// The vdev bus parses the names of devices whose driver is there, and no other.
bool has_driver(const std::string &device) {
    rte_devargs parsed{};
    const bool known = rte_devargs_parse(&parsed, ("vdev:" + device).c_str()) == 0;
    std::free(parsed.data);  // all that rte_devargs_reset does, which is not stable in 22.11
    return known;
}

}  // namespace

void make_vdev(port &made, const char *driver, size_t index, const std::string &arguments) {
    const std::string name = driver + std::to_string(index);
    if (!has_driver(name))
        throw refusal(std::string("this DPDK has no driver ") + driver,
                      "install DPDK's network drivers (Debian, Ubuntu: apt-get install librte-meta-net)");
    if (const int error = rte_vdev_init(name.c_str(), arguments.c_str()); error != 0)
        throw refusal(name + " cannot be created with \"" + arguments + "\": " + rte_strerror(-error),
                      "see the driver's messages in engine.log");
    made.device = name;
    if (const int error = rte_eth_dev_get_port_by_name(name.c_str(), &made.id); error != 0)
        throw refusal(name + " is not an Ethernet device: " + rte_strerror(-error));
}

const std::string &vdev_value(const char *key, const std::string &value) {
    if (value.find_first_of(",[]") != std::string::npos)
        throw refusal(std::string(key) + " \"" + value +
                          "\" holds a comma or a bracket, which separate a driver's arguments",
                      "choose a name without them");
    return value;
}

uint32_t frame_room(rte_mempool *pool) {
    const uint32_t room = rte_pktmbuf_data_room_size(pool);
    return room > RTE_PKTMBUF_HEADROOM ? room - RTE_PKTMBUF_HEADROOM : 0;
}

}  // namespace wt
