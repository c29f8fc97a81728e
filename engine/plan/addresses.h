// Addresses of a plan, from text to what frames hold.
#pragma once

#include <string>

#include "core/frame.h"
#include "plan/json_reader.h"

namespace wt {

mac_address read_mac(const json_value &value);  // 02:00:00:00:00:01, in lower case
uint32_t read_ipv4(const json_value &value);    // host byte order
std::string text_of(const mac_address &mac);    // as a plan has it

}  // namespace wt
