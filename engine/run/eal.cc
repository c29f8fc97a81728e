#include "run/eal.h"

#include <rte_eal.h>
#include <rte_errno.h>

#include "core/refusal.h"
#include "host/interrupt_thread.h"

namespace wt {

running_eal::running_eal(std::vector<std::string> words) {
    words.insert(words.begin(), "windtunnel-engine");
    std::vector<char *> argv;
    for (std::string &w : words) argv.push_back(w.data());
    if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0)
        throw refusal(std::string("DPDK's EAL does not start: ") + rte_strerror(rte_errno),
                      "see engine.log; `windtunnel host doctor` checks memory, cores and permissions");
}

running_eal::~running_eal() {
    await_interrupt_thread();  // it reads memory that is unmapped now, whenever a driver has woken it
    rte_eal_cleanup();
}

}  // namespace wt
