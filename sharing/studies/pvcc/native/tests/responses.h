// Requests and correct responses, for the tests of the open-loop client.
#pragma once

#include <array>
#include <string>

#include "client/dialect.h"

namespace wt::client {

constexpr question get{7, 32, false}, set{7, 32, true};

inline std::string value_of(uint64_t key, uint32_t length) {
    std::string value;
    append_value(key, length, value);
    return value;
}

// The right response to a GET of key 7.
inline std::string hit(protocol p) {
    const std::string value = value_of(7, 32);
    if (p == protocol::memcached) return "VALUE k7 0 32\r\n" + value + "\r\nEND\r\n";
    if (p == protocol::redis) return "$32\r\n" + value + "\r\n";
    return "HTTP/1.1 200 OK\r\nServer: x\r\nContent-LENGTH:  32 \r\n\r\n" + value;
}

constexpr std::array all{protocol::memcached, protocol::redis, protocol::http};

}  // namespace wt::client
