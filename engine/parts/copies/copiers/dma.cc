// dma: a DMA engine behind DPDK's dmadev, one device an application, because a channel has one user.
//
// Devices that the host has go by their names. "skeleton" is DPDK's software engine: a thread that copies,
// made here at run time on the CPU that the plan names. Its driver reads a wrong lcore as 0 or as none and
// only warns, so this file looks where the thread may run.
#include <rte_bus_vdev.h>
#include <rte_dmadev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

#include "core/refusal.h"
#include "parts/copies/copiers/copier.h"

namespace wt {

namespace {

constexpr const char *skeleton = "skeleton";
constexpr uint16_t channel = 0;  // every device has one
constexpr uint32_t at_once = 256;

struct dma {
    int16_t id = -1;
    std::string device;  // on the vdev bus; empty where there is none to remove
    bool started = false;

    ~dma() {
        if (started) rte_dma_stop(id);
        if (!device.empty()) {
            rte_vdev_uninit(device.c_str());  // which closes it, and fails where it is closed
        } else if (id >= 0) {
            rte_dma_close(id);
        }
    }
};

uint32_t submit(void *state, const copy_piece *pieces, uint32_t count) {
    const int16_t id = static_cast<dma *>(state)->id;
    uint32_t started = 0;
    for (; started < count; started++) {
        const copy_piece &p = pieces[started];
        if (rte_dma_copy(id, channel, reinterpret_cast<rte_iova_t>(p.from),
                         reinterpret_cast<rte_iova_t>(p.to), p.bytes, 0) < 0)
            break;
    }
    if (started > 0) rte_dma_submit(id, channel);
    return started;
}

// Behind an error the driver reports only with statuses.
uint32_t take_statuses(int16_t id, copy_end *ends, uint32_t most) {
    rte_dma_status_code statuses[at_once];
    const auto count = static_cast<uint16_t>(std::min(most, at_once));
    const uint32_t ended = rte_dma_completed_status(id, channel, count, nullptr, statuses);
    for (uint32_t i = 0; i < ended; i++)
        ends[i] = statuses[i] == RTE_DMA_STATUS_SUCCESSFUL ? copy_end::well : copy_end::failed;
    return ended;
}

uint32_t completed(void *state, copy_end *ends, uint32_t most) {
    const int16_t id = static_cast<dma *>(state)->id;
    bool error = false;
    const uint32_t well = rte_dma_completed(id, channel, static_cast<uint16_t>(most), nullptr, &error);
    std::fill_n(ends, well, copy_end::well);
    return unlikely(error) && well < most ? well + take_statuses(id, ends + well, most - well) : well;
}

void close(void *state) { delete static_cast<dma *>(state); }

driver_copies driver(const void *state) {
    rte_dma_stats stats{};
    rte_dma_stats_get(static_cast<const dma *>(state)->id, channel, &stats);
    return {stats.submitted, stats.completed, stats.errors};
}

std::string known_devices() {
    std::string names;
    rte_dma_info info;
    for (int16_t id = rte_dma_next_dev(0); id >= 0; id = rte_dma_next_dev(static_cast<int16_t>(id + 1)))
        if (rte_dma_info_get(id, &info) == 0)
            names += (names.empty() ? "" : ", ") + std::string(info.dev_name);
    return names.empty() ? "none" : names;
}

// Device names separated by commas: the application's own.
std::string device_of(const copier_end &end) {
    std::istringstream all(end.text("device"));
    std::string name;
    for (uint32_t i = 0; i <= end.application && std::getline(all, name, ','); i++)
        if (i == end.application || name == skeleton) return name;
    throw refusal("dma: application " + std::to_string(end.application) + " has no device in \"" +
                      end.text("device") + "\"",
                  "name one for each application: a device has one user");
}

unsigned lcore_of(const copier_end &end) {
    if (end.lcores.empty())
        throw refusal("dma: no lcore for the thread of a skeleton", "the plan must name one");
    return end.lcores[end.application % end.lcores.size()];
}

std::set<int> threads_of_process() {
    std::set<int> threads;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task")) {
        const std::string name = entry.path().filename();
        int id = 0;
        std::from_chars(name.data(), name.data() + name.size(), id);
        threads.insert(id);
    }
    return threads;
}

// The one thread that has come since; it may run on the lcore's CPU and on no other.
int checked_thread(const std::set<int> &before, unsigned lcore) {
    std::set<int> after = threads_of_process();
    std::erase_if(after, [&](int thread) { return before.contains(thread); });
    if (after.size() != 1)
        throw refusal("dma: starting a skeleton made " + std::to_string(after.size()) + " threads, not one");
    const cpu_set_t wanted = rte_lcore_cpuset(lcore);
    cpu_set_t may_run;
    const int thread = *after.begin();
    if (sched_getaffinity(thread, sizeof may_run, &may_run) != 0 || !CPU_EQUAL(&wanted, &may_run))
        throw refusal(
            "dma: the skeleton's thread may run on other CPUs than that of lcore " + std::to_string(lcore),
            "see the driver's messages in engine.log");
    return thread;
}

int first_cpu(unsigned lcore) {
    const cpu_set_t cpus = rte_lcore_cpuset(lcore);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus)) return cpu;
    return -1;
}

void make_skeleton(dma &made, const copier_end &end) {
    const unsigned lcore = lcore_of(end);
    if (lcore >= RTE_MAX_LCORE || rte_lcore_has_role(lcore, ROLE_RTE) != 1)
        throw refusal("dma: lcore " + std::to_string(lcore) + " is not one of EAL's");
    uint32_t number = end.application;
    while (rte_dma_get_dev_id_by_name(("dma_skeleton" + std::to_string(number)).c_str()) >= 0) number++;
    const std::string name = "dma_skeleton" + std::to_string(number);
    if (const int error = rte_vdev_init(name.c_str(), ("lcore=" + std::to_string(lcore)).c_str()); error < 0)
        throw refusal("dma: no software engine: dma_skeleton: " + std::string(rte_strerror(-error)),
                      "see engine.log; DPDK's drivers librte_dma_skeleton and IOVA as VA are needed");
    made.device = name;
    made.id = static_cast<int16_t>(rte_dma_get_dev_id_by_name(name.c_str()));
}

void find_device(dma &made, const std::string &name) {
    const int id = rte_dma_get_dev_id_by_name(name.c_str());
    if (id < 0)
        throw refusal(
            "dma: no device \"" + name + "\"; EAL has found " + known_devices(),
            "see `dpdk-devbind.py --status`; work queues of the kernel's idxd driver must be named dpdk_*");
    made.id = static_cast<int16_t>(id);
}

void check(int error, const std::string &device, const std::string &what) {
    if (error < 0)
        throw refusal("dma: " + device + ": " + what + ": " + rte_strerror(-error),
                      "see the driver's messages in engine.log");
}

// Descriptors for `depth` copies: a ring keeps one of them empty.
uint16_t descriptors_for(uint32_t depth, const rte_dma_info &info) {
    const uint32_t needed = std::bit_ceil(std::max<uint32_t>(depth + 1, info.min_desc));
    if (needed > info.max_desc)
        throw refusal("dma: " + std::string(info.dev_name) + ": a depth of " + std::to_string(depth) +
                          " needs " + std::to_string(needed) + " descriptors, it has at most " +
                          std::to_string(info.max_desc),
                      "use a depth of at most " + std::to_string(info.max_desc - 1));
    return static_cast<uint16_t>(needed);
}

void configure(const dma &made, const rte_dma_info &info, uint32_t depth) {
    const std::string device = info.dev_name;
    constexpr uint64_t needed = RTE_DMA_CAPA_MEM_TO_MEM | RTE_DMA_CAPA_OPS_COPY;
    if ((info.dev_capa & needed) != needed)
        throw refusal("dma: " + device + " cannot copy from memory to memory", "use another device");
    if (!(info.dev_capa & RTE_DMA_CAPA_SVA) && rte_eal_iova_mode() != RTE_IOVA_VA)
        throw refusal("dma: " + device + " needs physical addresses, and copies have virtual ones",
                      "use an IOMMU (IOVA as VA), or a device with shared virtual addressing");
    rte_dma_conf conf{};
    conf.nb_vchans = 1;
    check(rte_dma_configure(made.id, &conf), device, "configuring");
    rte_dma_vchan_conf queue{};
    queue.direction = RTE_DMA_DIR_MEM_TO_MEM;
    queue.nb_desc = descriptors_for(depth, info);
    check(rte_dma_vchan_setup(made.id, channel, &queue), device,
          "a channel of " + std::to_string(queue.nb_desc) + " descriptors");
}

copy_channel open(const copier_end &end) {
    auto made = std::make_unique<dma>();
    const std::string name = device_of(end);
    const bool is_skeleton = name == skeleton;
    is_skeleton ? make_skeleton(*made, end) : find_device(*made, name);
    rte_dma_info info;
    check(rte_dma_info_get(made->id, &info), name, "asking the driver");
    configure(*made, info, end.depth);
    const std::set<int> before = threads_of_process();
    check(rte_dma_start(made->id), info.dev_name, "starting");
    made->started = true;
    copy_channel c{.submit = submit, .completed = completed, .close = close, .driver = driver};
    c.device = info.dev_name;
    c.kind = is_skeleton ? copier_kind::core : copier_kind::hardware;
    if (is_skeleton) {
        c.thread = checked_thread(before, lcore_of(end));
        c.cpu = first_cpu(lcore_of(end));
    }
    c.state = made.release();
    return c;
}

constexpr wt_option options[] = {
    {.name = "device",
     .fallback = skeleton,
     .help = "skeleton: DPDK's software engine, a thread; else names of dmadevs, one an application, "
             "separated by commas",
     .type = WT_TEXT},
    {},
};

}  // namespace

WT_COPIER(dma) = {.name = "dma",
                  .help = "a DMA engine behind DPDK's dmadev",
                  .thread_option = "device",
                  .most_depth = 8191,
                  .options = options,
                  .open = open};

}  // namespace wt
