#include "parts/rdma/address.h"

#include <arpa/inet.h>

namespace wt {

std::string dotted(uint32_t ip) {
    const in_addr address = {htonl(ip)};
    char text[INET_ADDRSTRLEN];
    return inet_ntop(AF_INET, &address, text, sizeof text);
}

sockaddr_in socket_address(uint32_t ip, uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(ip);
    address.sin_port = htons(port);
    return address;
}

}  // namespace wt
