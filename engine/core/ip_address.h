// An IP address of either family.
#pragma once

#include <array>
#include <cstdint>

namespace wt {

using ipv6_address = std::array<uint8_t, 16>;  // as it stands in a packet

struct ip_address {
    uint32_t v4 = 0;  // host byte order
    ipv6_address v6{};
    bool is_v6 = false;
};

}  // namespace wt
