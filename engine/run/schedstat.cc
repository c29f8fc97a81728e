#include "run/schedstat.h"

#include <cstdio>
#include <memory>
#include <string>

namespace wt {

std::optional<sched_times> schedstat_of(int tid) {
    const std::string path = "/proc/self/task/" + std::to_string(tid) + "/schedstat";
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "r"), std::fclose);
    unsigned long long on_cpu, delay;
    if (!file || std::fscanf(file.get(), "%llu %llu", &on_cpu, &delay) != 2) return {};
    return sched_times{on_cpu, delay};
}

}  // namespace wt
