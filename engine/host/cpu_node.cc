#include "host/cpu_node.h"

#include <charconv>
#include <filesystem>
#include <system_error>

namespace wt {

// A CPU's directory has a link "node1" to its node.
int node_of_cpu(int cpu, const std::string &sysfs) {
    constexpr std::string_view prefix = "node";
    std::error_code none;
    for (const auto &entry :
         std::filesystem::directory_iterator(sysfs + "/devices/system/cpu/cpu" + std::to_string(cpu), none)) {
        const std::string name = entry.path().filename();
        int node;
        if (name.starts_with(prefix) &&
            std::from_chars(name.data() + prefix.size(), name.data() + name.size(), node).ec == std::errc())
            return node;
    }
    return -1;
}

}  // namespace wt
