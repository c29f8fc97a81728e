// The plan as the engine holds it: the mirror of src/windtunnel/engine/plan.py, which says what each key
// means.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/frame.h"

namespace wt {

enum class side : uint8_t { client, server };
enum class stage_kind : uint8_t { app_tx, disp_tx, nic_tx, nic_rx, disp_rx, app_rx };
constexpr uint32_t stage_kinds = 6;
constexpr const char *stage_names[stage_kinds] = {"app_tx", "disp_tx", "nic_tx",
                                                  "nic_rx", "disp_rx", "app_rx"};
constexpr const char *side_names[2] = {"client", "server"};

enum class accounting : uint8_t { off, counts, sampled, cycles, histograms };
enum class port_kind : uint8_t { ring, null, pcap, af_packet, memif, pci, af_xdp, tap };
enum class steering : uint8_t { automatic, flow, rss };
enum class offload : uint8_t { rx_checksum, fast_free };
enum class memory_mode : uint8_t { hugepages, no_huge };
enum class arrivals : uint8_t { constant, poisson };
enum class size_kind : uint8_t { sequence, uniform, weighted };

constexpr uint32_t max_batch = 1024;
constexpr uint32_t max_message_bytes = 4u << 20;

struct eal_plan {
    std::vector<std::string> args;
    memory_mode memory;
    std::string file_prefix;
};

struct accounting_plan {
    accounting level;
    uint32_t sample_every;
    uint64_t interrupted_above_ns;
};

struct phases_plan {
    uint64_t warmup_ns, duration_ns, window_ns;
    std::optional<uint64_t> messages;
    uint64_t drain_ns;
};

struct pool_plan {
    uint32_t size, cache;
    std::string ops;
    uint32_t data_room_bytes;
};

struct fault_plan {
    double loss, duplicate, reorder;
    uint32_t reorder_depth;
};

struct link_plan {
    std::optional<double> bits_per_s;
    uint64_t delay_ns;
    uint32_t queue;
};

struct nic_plan {
    std::string address;
    enum steering steering;
    std::vector<offload> offloads;
};

struct port_plan {
    port_kind kind;
    uint16_t queues;
    uint16_t rx_descriptors, tx_descriptors;
    std::optional<uint16_t> rx_free_thresh, tx_free_thresh, tx_rs_thresh;
    std::optional<uint32_t> packet_bytes;
    std::optional<bool> copy_bytes;
    std::optional<bool> replay_at_its_times;
    std::optional<std::string> replay, interface, socket;
    std::optional<side> memif_role;
    std::optional<uint32_t> memif_buffer_bytes;
    std::optional<nic_plan> nic;
    bool udp_checksum;  // of what it sends; false: 0, none
    std::optional<fault_plan> faults;
    std::optional<link_plan> link;
};

struct application_plan {
    uint32_t workload;
    std::vector<uint32_t> dispatchers;
    uint32_t inflight;
};

struct dispatcher_plan {
    uint32_t workload;
    uint16_t queue;
};

struct endpoint_plan {
    enum side side;
    uint32_t ip;  // host byte order
    mac_address mac;
    std::optional<uint32_t> peer_ip;
    std::optional<mac_address> peer_mac;
    uint16_t udp_port;
    std::optional<uint16_t> peer_udp_port;
    uint16_t mtu;
    pool_plan pool;
    port_plan port;
    uint32_t batch[stage_kinds];  // by stage_kind
    uint32_t ring_size;
    bool answer_in_request;
    std::vector<application_plan> applications;
    std::vector<dispatcher_plan> dispatchers;
};

struct handler_plan {
    std::string name;
    std::map<std::string, std::string> options;
};

struct load_phase_plan {
    std::optional<uint64_t> length_ns;
    double rate_per_s;
    enum arrivals arrivals;
    std::optional<uint64_t> on_ns, off_ns;
};

struct load_plan {
    bool open;
    std::vector<load_phase_plan> phases;
    uint32_t lead;
};

struct sizes_plan {
    size_kind kind;
    std::vector<uint32_t> bytes;
    std::vector<double> weights;
};

struct workload_plan {
    std::string name;
    uint32_t request_bytes, response_bytes;  // of the largest
    std::optional<sizes_plan> request_sizes, response_sizes;
    std::optional<handler_plan> handler, packet_handler;
    bool scan;
    uint64_t extra_ticks;
    uint64_t timeout_ns;
    std::optional<load_plan> load;
    uint32_t client_applications, client_slots;
};

struct stage_of {
    uint32_t endpoint;
    stage_kind stage;
    uint32_t index;
};

struct worker_plan {
    unsigned lcore;
    int cpu;
    std::vector<stage_of> stages;
};

struct trace_plan {
    std::string path;
    uint32_t every;  // loops
    uint64_t limit_events;
};

struct raw_latency_plan {
    std::string path;
    uint64_t limit;
};

struct plan {
    std::string hash, title;
    uint64_t seed;
    eal_plan eal;
    struct accounting_plan accounting;
    phases_plan phases;
    std::optional<uint64_t> hello_wait_ns;
    std::vector<endpoint_plan> endpoints;
    std::vector<workload_plan> workloads;
    std::vector<worker_plan> workers;
    std::optional<std::string> record;
    std::optional<trace_plan> trace;
    std::optional<raw_latency_plan> raw_latency;
};

// Reads a plan strictly: unknown, missing or impossible keys are refused with their path ("endpoints[0].mtu:
// 20 is below 68"). Checks every index against the list that it points into. Throws refusal, never anything
// else.
plan read_plan(std::string_view json);

}  // namespace wt
