// Reads a plan, key by key as src/windtunnel/engine/plan.py has them. What one key means for another is in
// check.cc.
#include "plan/plan.h"

#include <arpa/inet.h>

#include "core/refusal.h"
#include "plan/check.h"
#include "plan/json_reader.h"

namespace wt {

namespace {

constexpr uint64_t plan_version = 2;
constexpr uint64_t largest_data_room = UINT16_MAX;  // rte_mbuf's buf_len

constexpr const char *accounting_words[] = {"off", "counts", "sampled", "cycles", "histograms"};
constexpr const char *port_words[] = {"ring", "null", "pcap", "af_packet", "memif", "pci", "af_xdp", "tap"};
constexpr const char *steering_words[] = {"auto", "flow", "rss"};
constexpr const char *offload_words[] = {"rx_checksum", "fast_free"};
constexpr const char *pace_words[] = {"speed", "capture"};
constexpr const char *memory_words[] = {"hugepages", "no-huge"};
constexpr const char *arrival_words[] = {"constant", "poisson"};
constexpr const char *size_words[] = {"sequence", "uniform", "weighted"};
constexpr const char *load_words[] = {"closed", "open"};
constexpr const char *answer_words[] = {"new", "request"};
constexpr const char *pool_ops[] = {"ring_mp_mc", "ring_sp_sc", "ring_mt_rts", "ring_mt_hts",
                                    "stack",      "lf_stack",   "bucket"};

template <typename T>
T whole(const json_value &v) {
    return v.whole<T>();
}

std::string text(const json_value &v) {
    return v.text();
}

template <typename Enum, typename Words>
Enum word(const json_value &v, const Words &words) {
    return static_cast<Enum>(v.word(words));
}

side read_side(const json_value &v) {
    return word<side>(v, side_names);
}

mac_address read_mac(const json_value &v) {
    const std::string given = v.text();
    const auto digit = [&](size_t i) -> int {
        const char c = given[i];
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    mac_address mac;
    bool good = given.size() == 17;
    for (size_t i = 0; good && i < 6; i++) {
        const int high = digit(3 * i), low = digit(3 * i + 1);
        good = high >= 0 && low >= 0 && (i == 5 || given[3 * i + 2] == ':');
        mac.bytes[i] = static_cast<uint8_t>(high * 16 + low);
    }
    if (!good) v.refuse(in_quotes(given) + " is not a MAC address like 02:00:00:00:00:01, in lower case");
    return mac;
}

uint32_t read_ip(const json_value &v) {
    in_addr address;
    if (inet_pton(AF_INET, v.text().c_str(), &address) != 1)
        v.refuse(in_quotes(v.text()) + " is not an IPv4 address");
    return ntohl(address.s_addr);
}

eal_plan read_eal(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return eal_plan{.args = o["args"].list(text),
                        .memory = word<memory_mode>(o["memory"], memory_words),
                        .file_prefix = o["file_prefix"].text()};
    });
}

accounting_plan read_accounting(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return accounting_plan{.level = word<accounting>(o["level"], accounting_words),
                               .sample_every = o["sample_every"].whole<uint32_t>(1),
                               .interrupted_above_ns = o["interrupted_above_ns"].whole<uint64_t>(1)};
    });
}

phases_plan read_phases(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return phases_plan{.warmup_ns = o["warmup_ns"].whole<uint64_t>(),
                           .duration_ns = o["duration_ns"].whole<uint64_t>(1),
                           .window_ns = o["window_ns"].whole<uint64_t>(1),
                           .messages = o["messages"].optional(whole<uint64_t>),
                           .drain_ns = o["drain_ns"].whole<uint64_t>()};
    });
}

pool_plan read_pool(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return pool_plan{.size = o["size"].whole<uint32_t>(1),
                         .cache = o["cache"].whole<uint32_t>(),
                         .ops = pool_ops[o["ops"].word(pool_ops)],
                         .data_room_bytes = o["data_room_bytes"].whole<uint32_t>(128, largest_data_room)};
    });
}

fault_plan read_faults(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return fault_plan{.loss = o["loss"].real(0, 1),
                          .duplicate = o["duplicate"].real(0, 1),
                          .reorder = o["reorder"].real(0, 1),
                          .reorder_depth = o["reorder_depth"].whole<uint32_t>(1, 64)};
    });
}

link_plan read_link(const json_value &v) {
    return read_object(v, [](json_object &o) {
        // Between these bounds the time of a byte fits the link's fixed point.
        return link_plan{.bits_per_s = o["bits_per_s"].optional([](const json_value &r) { return r.real(1e6, 1e12); }),
                         .delay_ns = o["delay_ns"].whole<uint64_t>(0, 10'000'000'000),
                         .queue = o["queue"].whole<uint32_t>(1, 1u << 20)};
    });
}

nic_plan read_nic(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return nic_plan{.address = o["address"].text(),
                        .steering = word<steering>(o["steering"], steering_words),
                        .offloads = o["offloads"].list(
                            [](const json_value &w) { return word<offload>(w, offload_words); })};
    });
}

port_plan read_port(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return port_plan{
            .kind = word<port_kind>(o["kind"], port_words),
            .queues = o["queues"].whole<uint16_t>(1, 64),
            .rx_descriptors = o["rx_descriptors"].whole<uint16_t>(1),
            .tx_descriptors = o["tx_descriptors"].whole<uint16_t>(1),
            .rx_free_thresh = o["rx_free_thresh"].optional(whole<uint16_t>),
            .tx_free_thresh = o["tx_free_thresh"].optional(whole<uint16_t>),
            .tx_rs_thresh = o["tx_rs_thresh"].optional(whole<uint16_t>),
            .packet_bytes = o["packet_bytes"].optional(whole<uint32_t>),
            .copy_bytes = o["copy_bytes"].optional([](const json_value &b) { return b.truth(); }),
            .replay_at_its_times =
                o["pace"].optional([](const json_value &pace) { return pace.word(pace_words) == 1; }),
            .replay = o["replay"].optional(text),
            .interface = o["interface"].optional(text),
            .socket = o["socket"].optional(text),
            .memif_role = o["memif_role"].optional(read_side),
            .memif_buffer_bytes = o["memif_buffer_bytes"].optional(whole<uint32_t>),
            .nic = o["nic"].optional(read_nic),
            .udp_checksum = o["udp_checksum"].truth(),
            .faults = o["faults"].optional(read_faults),
            .link = o["link"].optional(read_link)};
    });
}

application_plan read_application(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return application_plan{.workload = o["workload"].whole<uint32_t>(),
                                .dispatchers = o["dispatchers"].list(whole<uint32_t>, 1),
                                .inflight = o["inflight"].whole<uint32_t>()};
    });
}

dispatcher_plan read_dispatcher(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return dispatcher_plan{.workload = o["workload"].whole<uint32_t>(),
                               .queue = o["queue"].whole<uint16_t>()};
    });
}

endpoint_plan read_endpoint(const json_value &v) {
    return read_object(v, [](json_object &o) {
        endpoint_plan e{.side = read_side(o["side"]),
                        .ip = read_ip(o["ip"]),
                        .mac = read_mac(o["mac"]),
                        .peer_ip = o["peer_ip"].optional(read_ip),
                        .peer_mac = o["peer_mac"].optional(read_mac),
                        .udp_port = o["udp_port"].whole<uint16_t>(1),
                        .peer_udp_port = o["peer_udp_port"].optional(
                            [](const json_value &port) { return port.whole<uint16_t>(1); }),
                        .mtu = o["mtu"].whole<uint16_t>(68, 9000),
                        .pool = read_pool(o["pool"]),
                        .port = read_port(o["port"]),
                        .batch = {},
                        .ring_size = o["ring_size"].whole<uint32_t>(2),
                        .answer_in_request = o["answer_in"].word(answer_words) == 1,
                        .applications = o["applications"].list(read_application),
                        .dispatchers = o["dispatchers"].list(read_dispatcher)};
        read_object(o["batch"], [&](json_object &b) {
            for (uint32_t s = 0; s < stage_kinds; s++)
                e.batch[s] = b[stage_names[s]].whole<uint32_t>(1, max_batch);
            return true;
        });
        return e;
    });
}

handler_plan read_handler(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return handler_plan{.name = o["name"].text(), .options = o["options"].texts_by_name()};
    });
}

constexpr double most_real = std::numeric_limits<double>::max();

load_phase_plan read_load_phase(const json_value &v) {
    return read_object(v, [](json_object &o) {
        const auto length = [](const json_value &ns) { return ns.whole<uint64_t>(1); };
        return load_phase_plan{.length_ns = o["length_ns"].optional(length),
                               .rate_per_s = o["rate_per_s"].real(0, most_real),
                               .arrivals = word<arrivals>(o["arrivals"], arrival_words),
                               .on_ns = o["on_ns"].optional(length),
                               .off_ns = o["off_ns"].optional(length)};
    });
}

load_plan read_load(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return load_plan{.open = o["mode"].word(load_words) == 1,
                         .phases = o["phases"].list(read_load_phase),
                         .lead = o["lead"].whole<uint32_t>()};
    });
}

sizes_plan read_sizes(const json_value &v) {
    return read_object(v, [](json_object &o) {
        const auto size = [](const json_value &b) { return b.whole<uint32_t>(16, max_message_bytes); };
        const auto weight = [](const json_value &w) { return w.real(0, most_real); };
        return sizes_plan{.kind = word<size_kind>(o["kind"], size_words),
                          .bytes = o["bytes"].list(size, 1),
                          .weights = o["weights"].list(weight)};
    });
}

workload_plan read_workload(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return workload_plan{.name = o["name"].text(),
                             .request_bytes = o["request_bytes"].whole<uint32_t>(16, max_message_bytes),
                             .response_bytes = o["response_bytes"].whole<uint32_t>(16, max_message_bytes),
                             .request_sizes = o["request_sizes"].optional(read_sizes),
                             .response_sizes = o["response_sizes"].optional(read_sizes),
                             .handler = o["handler"].optional(read_handler),
                             .packet_handler = o["packet_handler"].optional(read_handler),
                             .scan = o["scan"].truth(),
                             .extra_ticks = o["extra_ticks"].whole<uint64_t>(),
                             .timeout_ns = o["timeout_ns"].whole<uint64_t>(1),
                             .load = o["load"].optional(read_load),
                             .client_applications = o["client_applications"].whole<uint32_t>(0, 65535),
                             .client_slots = o["client_slots"].whole<uint32_t>()};
    });
}

stage_of read_stage(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return stage_of{.endpoint = o["endpoint"].whole<uint32_t>(),
                        .stage = word<stage_kind>(o["stage"], stage_names),
                        .index = o["index"].whole<uint32_t>()};
    });
}

worker_plan read_worker(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return worker_plan{.lcore = o["lcore"].whole<unsigned>(1),
                           .cpu = o["cpu"].whole<int>(),
                           .stages = o["stages"].list(read_stage, 1)};
    });
}

trace_plan read_trace(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return trace_plan{.path = o["path"].text(),
                          .every = o["every"].whole<uint32_t>(1),
                          .limit_events = o["limit_events"].whole<uint64_t>(1)};
    });
}

raw_latency_plan read_raw_latency(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return raw_latency_plan{.path = o["path"].text(), .limit = o["limit"].whole<uint64_t>(1)};
    });
}

}  // namespace

plan read_plan(std::string_view json) {
    const nlohmann::json document = parse_json(json);
    plan p = read_object(json_value(document, ""), [](json_object &o) {
        // first, so that a plan of another version is refused for that and not for a key
        if (const auto version = o["version"].whole<uint64_t>(); version != plan_version)
            throw refusal("the plan has version " + std::to_string(version) + ", this engine reads version " +
                              std::to_string(plan_version),
                          "use windtunnel and windtunnel-engine of one release");
        return plan{.hash = o["hash"].text(),
                    .title = o["title"].text(),
                    .seed = o["seed"].whole<uint64_t>(),
                    .eal = read_eal(o["eal"]),
                    .accounting = read_accounting(o["accounting"]),
                    .phases = read_phases(o["phases"]),
                    .hello_wait_ns = o["hello_wait_ns"].optional(
                        [](const json_value &wait) { return wait.whole<uint64_t>(1); }),
                    .endpoints = o["endpoints"].list(read_endpoint, 1, 2),
                    .workloads = o["workloads"].list(read_workload, 1),
                    .workers = o["workers"].list(read_worker, 1),
                    .record = o["record"].optional(text),
                    .trace = o["trace"].optional(read_trace),
                    .raw_latency = o["raw_latency"].optional(read_raw_latency)};
    });
    check_plan(p);
    return p;
}

}  // namespace wt
