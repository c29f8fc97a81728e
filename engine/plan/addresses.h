// Addresses of a plan, from text to what frames hold.
#pragma once

#include "core/frame.h"
#include "plan/json_reader.h"

namespace wt {

mac_address read_mac(const json_value &value);  // 02:00:00:00:00:01, in lower case
uint32_t read_ipv4(const json_value &value);    // host byte order

}  // namespace wt
