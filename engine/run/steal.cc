#include "run/steal.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace wt {

std::vector<uint64_t> steal_ns(const std::vector<int> &cpus) {
    const uint64_t tick_ns = 1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    std::vector<uint64_t> stolen(cpus.size(), 0);
    std::ifstream file("/proc/stat");
    // the lines of CPUs stand first: what follows them may be long
    for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
        std::istringstream words(line);
        std::string name;
        uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
        if (!(words >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) continue;
        for (size_t i = 0; i < cpus.size(); i++)
            if (name == "cpu" + std::to_string(cpus[i])) stolen[i] = steal * tick_ns;
    }
    return stolen;
}

}  // namespace wt
