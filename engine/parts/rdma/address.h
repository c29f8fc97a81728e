// IPv4 addresses of ends, which stand in host byte order.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>

namespace wt {

// "127.0.0.1".
std::string dotted(uint32_t ip);

sockaddr_in socket_address(uint32_t ip, uint16_t port);

}  // namespace wt
