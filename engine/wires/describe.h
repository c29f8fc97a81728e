// The words of a descriptor's numbers: in --wires, in a plan, in messages.
#pragma once

#include <windtunnel/wire.h>

namespace wt {

// nullptr for a number that there is not.
const char *wire_type_word(uint32_t type);
const char *wire_need_word(uint32_t kind);

// The type of the option that such a need is about; 0 where it is about none.
uint32_t type_of_need(uint32_t kind);

uint32_t known_wire_flags();

}  // namespace wt
