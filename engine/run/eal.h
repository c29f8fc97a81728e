// DPDK's environment, for as long as something runs in it.
#pragma once

#include <string>
#include <vector>

namespace wt {

// Ends EAL: devices, its threads and the files of its runtime directory. Whatever lies in its memory is gone
// before this.
struct running_eal {
    // `words`: arguments of rte_eal_init, without the program's name. Throws refusal.
    explicit running_eal(std::vector<std::string> words);
    ~running_eal();
    running_eal(const running_eal &) = delete;
    running_eal &operator=(const running_eal &) = delete;
};

}  // namespace wt
