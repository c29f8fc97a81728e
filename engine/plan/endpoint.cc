// An endpoint of a plan: its addresses, its pool, its port, its applications and dispatchers.
#include <arpa/inet.h>

#include "plan/parts.h"

namespace wt {

namespace {

constexpr uint64_t largest_data_room = UINT16_MAX;  // rte_mbuf's buf_len
constexpr size_t most_applications = UINT16_MAX;    // a message header has two bytes for them

constexpr const char *port_words[] = {"ring", "null", "pcap", "af_packet", "memif", "pci", "af_xdp", "tap"};
constexpr const char *steering_words[] = {"auto", "flow", "rss"};
constexpr const char *offload_words[] = {"rx_checksum", "fast_free"};
constexpr const char *pace_words[] = {"speed", "capture"};
constexpr const char *answer_words[] = {"new", "request"};
constexpr const char *pool_ops[] = {"ring_mp_mc", "ring_sp_sc", "ring_mt_rts", "ring_mt_hts",
                                    "stack",      "lf_stack",   "bucket"};

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

}  // namespace

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
                        .applications = o["applications"].list(read_application, 0, most_applications),
                        .dispatchers = o["dispatchers"].list(read_dispatcher)};
        read_object(o["batch"], [&](json_object &b) {
            for (uint32_t s = 0; s < stage_kinds; s++)
                e.batch[s] = b[stage_names[s]].whole<uint32_t>(1, max_batch);
            return true;
        });
        return e;
    });
}

}  // namespace wt
