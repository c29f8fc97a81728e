// Memory of EAL's heap, which a device can reach, freed with the pointer to it.
#pragma once

#include <rte_malloc.h>

#include <cstdint>
#include <memory>

namespace wt {

struct eal_free {
    void operator()(void *memory) const { rte_free(memory); }
};
using eal_memory = std::unique_ptr<uint8_t, eal_free>;

}  // namespace wt
