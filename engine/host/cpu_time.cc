#include "host/cpu_time.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>

namespace wt {

namespace {

uint64_t clock_tick_ns() { return 1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)); }

}  // namespace

std::optional<sched_times> schedstat_of(int tid) {
    const std::string path = "/proc/self/task/" + std::to_string(tid) + "/schedstat";
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "r"), std::fclose);
    unsigned long long on_cpu, delay;
    if (!file || std::fscanf(file.get(), "%llu %llu", &on_cpu, &delay) != 2) return {};
    return sched_times{on_cpu, delay};
}

std::optional<kernel_work> kernel_work_of(int tid) {
    std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
    std::string line{std::istreambuf_iterator(file), {}};
    // a thread's name may hold anything, so the fields are counted from its last bracket
    const size_t name_end = line.rfind(')');
    unsigned long long minor, major, ticks;
    if (name_end == std::string::npos ||
        std::sscanf(line.c_str() + name_end, ") %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %*u %llu",
                    &minor, &major, &ticks) != 3)
        return {};
    return kernel_work{ticks * clock_tick_ns(), minor, major};
}

std::vector<uint64_t> steal_ns(const std::vector<int> &cpus) {
    const uint64_t tick_ns = clock_tick_ns();
    std::vector<uint64_t> found(cpus.size(), 0);
    std::ifstream file("/proc/stat");
    // the lines of CPUs come first: what follows them may be long
    for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
        std::istringstream words(line);
        std::string name;
        uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
        if (!(words >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) continue;
        for (size_t i = 0; i < cpus.size(); i++)
            if (name == "cpu" + std::to_string(cpus[i])) found[i] = steal * tick_ns;
    }
    return found;
}

}  // namespace wt
