#include "plan/addresses.h"

#include <arpa/inet.h>

#include <cstdio>

namespace wt {

static int hexadecimal(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

mac_address read_mac(const json_value &value) {
    const std::string given = value.text();
    mac_address mac;
    bool good = given.size() == 17;
    for (size_t i = 0; good && i < 6; i++) {
        const int high = hexadecimal(given[3 * i]), low = hexadecimal(given[3 * i + 1]);
        good = high >= 0 && low >= 0 && (i == 5 || given[3 * i + 2] == ':');
        mac.bytes[i] = static_cast<uint8_t>(high * 16 + low);
    }
    if (!good) value.refuse(in_quotes(given) + " is not a MAC address like 02:00:00:00:00:01, in lower case");
    return mac;
}

std::string text_of(const mac_address &mac) {
    char text[18];
    const uint8_t *b = mac.bytes;
    std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
    return text;
}

ip_address read_ip(const json_value &value) {
    const std::string given = value.text();
    ip_address read;
    in_addr v4;
    if (inet_pton(AF_INET, given.c_str(), &v4) == 1)
        read.v4 = ntohl(v4.s_addr);
    else if (inet_pton(AF_INET6, given.c_str(), read.v6.data()) == 1)
        read.is_v6 = true;
    else
        value.refuse(in_quotes(given) + " is not an IP address");
    return read;
}

}  // namespace wt
