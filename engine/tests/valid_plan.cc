#include "valid_plan.h"

#include "parts/all_parts.h"

namespace wt::test {

using json = nlohmann::ordered_json;

json open_load(double rate_per_s, const char *arrivals) {
    json load = R"({"mode": "open", "lead": 0,
                    "phases": [{"length_ns": null, "on_ns": null, "off_ns": null}]})"_json;
    load["phases"][0].update({{"rate_per_s", rate_per_s}, {"arrivals", arrivals}});
    return load;
}

json valid_endpoint(const std::string &side) {
    json server = R"({
        "side": "server",
        "ip": "10.0.0.2", "mac": "02:00:00:00:00:02",
        "peer_ip": "10.0.0.1", "peer_mac": "02:00:00:00:00:01",
        "udp_port": 4000, "peer_udp_port": 4000, "mtu": 1500,
        "vlan": {"id": 100, "priority": 5},
        "pool": {"size": 2047, "cache": 64, "ops": "ring_mp_mc", "data_room_bytes": 2176},
        "port": {
            "wire": "ring",
            "traits": ["server", "client", "both_ends", "together", "twice", "moves_mbufs", "emulates"],
            "options": {"depth": "64"},
            "queues": 2, "rx_descriptors": 256, "tx_descriptors": 256,
            "rx_free_thresh": 32, "tx_free_thresh": 32, "tx_rs_thresh": 32,
            "udp_checksum": true, "chains": false,
            "faults": {"loss": 0.25, "duplicate": 0.5, "reorder": 1, "reorder_depth": 3},
            "link": {"bits_per_s": 1e10, "delay_ns": 5000, "queue": 64}
        },
        "batch": {"app_tx": 1, "disp_tx": 2, "nic_tx": 3, "nic_rx": 4, "disp_rx": 5, "app_rx": 1024},
        "ring_size": 64,
        "response_mbuf": "request",
        "applications": [{"workload": 0, "dispatchers": [0, 1], "inflight": 0}],
        "dispatchers": [{"workload": 0, "queue": 0, "peers": []}, {"workload": 0, "queue": 1, "peers": []}]
    })"_json;
    if (side == "server") return server;
    json client = server;
    client["side"] = "client";
    for (const std::string address : {"ip", "mac"}) {
        client[address] = server["peer_" + address];
        client["peer_" + address] = server[address];
    }
    client["applications"][0]["inflight"] = 32;
    for (json &d : client["dispatchers"]) d["peers"].push_back(d["queue"]);
    return client;
}

json valid_variants() {
    return R"({
        "settle_ns": 1000,
        "variants": [
            {"name": "plain", "delays": [], "batch": {}, "inflight": null},
            {"name": "other", "delays": [{"endpoint": "client", "stage": "app_tx", "ns": 2.5}],
             "batch": {"client": {"app_tx": 64, "disp_tx": 1}, "server": {"nic_rx": 8}}, "inflight": 7}
        ],
        "order": [0, 1, 1]
    })"_json;
}

static json make_valid_plan() {
    json plan = R"({
        "version": 3, "hash": "0f", "title": "a plan", "seed": 18446744073709551615,
        "eal": {"args": ["--no-huge", "-m", "256"], "memory": "no-huge", "file_prefix": "wt-test"},
        "accounting": {"level": "sampled", "sample_every": 61, "interrupted_above_ns": 5000},
        "phases": {"warmup_ns": 0, "duration_ns": 1, "window_ns": 1, "messages": 1000, "drain_ns": 0,
                   "hold_windows": false},
        "hello_wait_ns": null,
        "workloads": [{
            "name": "rpc",
            "request_bytes": 16, "response_bytes": 4194304, "request_sizes": null,
            "response_sizes": {"kind": "weighted", "bytes": [16, 4194304], "weights": [1.5, 0]},
            "handler": {"name": "l_app", "options": {"state": "64"}},
            "packet_handler": {"name": "echo", "options": {"depth": "64"}},
            "scan": false, "extra_ticks": 0, "timeout_ns": 1000000,
            "client_applications": 1, "client_slots": 32
        }],
        "workers": [
            {"lcore": 1, "cpu": 0, "stages": [{"endpoint": 0, "stage": "app_tx", "index": 0},
                                              {"endpoint": 0, "stage": "disp_tx", "index": 1}]},
            {"lcore": 2, "cpu": 1, "stages": [{"endpoint": 1, "stage": "nic_rx", "index": 1}]}
        ],
        "probe_pairs": [{"a": 0, "b": 1, "round": 0}],
        "record": "/tmp/record.pcap",
        "trace": {"path": "/tmp/trace.bin", "every": 997, "limit_events": 1000},
        "raw_latency": {"path": "/tmp/raw", "limit": 10}
    })"_json;
    for (const std::string key : std::initializer_list<const char *>{WT_WORKLOAD_KEYS_OF_PARTS})
        plan["workloads"][0][key] = nullptr;
    plan["endpoints"] = {valid_endpoint("client"), valid_endpoint("server")};
    plan["workloads"][0]["load"] = open_load(1e6, "poisson");
    plan["variants"] = valid_variants();
    return plan;
}

json valid_plan() {
    static const json plan = make_valid_plan();  // tests take thousands
    return plan;
}

void leave_server(json &plan) {
    plan["endpoints"].erase(0);
    plan["workers"].erase(1);
    plan["probe_pairs"] = json::array();
    plan["variants"] = nullptr;
}

}  // namespace wt::test
