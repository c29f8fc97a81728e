// A number that nobody can guess: by the kernel's generator, not by the seed.
#pragma once

#include <cstdint>
#include <random>

namespace wt {

inline uint64_t unguessable() {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
}

}  // namespace wt
