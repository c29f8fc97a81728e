// Addresses of a plan, from text to what frames hold.
#pragma once

#include <string>

#include "core/frame.h"
#include "plan/json_reader.h"

namespace wt {

mac_address read_mac(const json_value &value);  // 02:00:00:00:00:01, in lower case
ip_address read_ip(const json_value &value);    // of either family
std::string text_of(const mac_address &mac);    // as a plan has it

}  // namespace wt
