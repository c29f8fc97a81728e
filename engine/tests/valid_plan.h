// A plan that is accepted, with every nullable part present: tests change it one key at a time.
#pragma once

#include <nlohmann/json.hpp>

namespace wt::test {

// The load of a workload: one rate for ever.
inline nlohmann::json open_load(double rate_per_s, const char *arrivals) {
    const nlohmann::json phase = {{"length_ns", nullptr},
                                  {"rate_per_s", rate_per_s},
                                  {"arrivals", arrivals},
                                  {"on_ns", nullptr},
                                  {"off_ns", nullptr}};
    return {{"mode", "open"}, {"phases", nlohmann::json::array({phase})}, {"lead", 0}};
}

inline nlohmann::json valid_endpoint(const char *side) {
    const bool client = std::string(side) == "client";
    return {
        {"side", side},
        {"ip", client ? "10.0.0.1" : "10.0.0.2"},
        {"mac", client ? "02:00:00:00:00:01" : "02:00:00:00:00:02"},
        {"peer_ip", client ? "10.0.0.2" : "10.0.0.1"},
        {"peer_mac", client ? "02:00:00:00:00:02" : "02:00:00:00:00:01"},
        {"udp_port", 4000},
        {"peer_udp_port", 4000},
        {"mtu", 1500},
        {"vlan", {{"id", 100}, {"priority", 5}}},
        {"pool", {{"size", 2047}, {"cache", 64}, {"ops", "ring_mp_mc"}, {"data_room_bytes", 2176}}},
        {"port",
         {{"wire", "ring"},
          {"traits", {"server", "client", "both_ends", "together", "twice", "moves_mbufs", "emulates"}},
          {"options", {{"depth", "64"}}},
          {"queues", 2},
          {"rx_descriptors", 256},
          {"tx_descriptors", 256},
          {"rx_free_thresh", 32},
          {"tx_free_thresh", 32},
          {"tx_rs_thresh", 32},
          {"udp_checksum", true},
          {"chains", false},
          {"faults", {{"loss", 0.25}, {"duplicate", 0.5}, {"reorder", 1}, {"reorder_depth", 3}}},
          {"link", {{"bits_per_s", 1e10}, {"delay_ns", 5000}, {"queue", 64}}}}},
        {"batch",
         {{"app_tx", 1}, {"disp_tx", 2}, {"nic_tx", 3}, {"nic_rx", 4}, {"disp_rx", 5}, {"app_rx", 1024}}},
        {"ring_size", 64},
        {"response_mbuf", "request"},
        {"applications", {{{"workload", 0}, {"dispatchers", {0, 1}}, {"inflight", client ? 32 : 0}}}},
        {"dispatchers", {{{"workload", 0}, {"queue", 0}}, {{"workload", 0}, {"queue", 1}}}},
    };
}

// Two tables: one of generated rules that change, one of rules in a file whose packets are metered.
inline nlohmann::json valid_pipeline() {
    const nlohmann::json field = {{"place", "body"}, {"offset", 0}, {"bytes", 4}};
    nlohmann::json table = {{"name", "flows"},
                            {"where", "ingress"},
                            {"kind", "lpm"},
                            {"method", "fib"},
                            {"key", {{"fields", {field}}, {"bytes", 4}, {"segments", 0}}},
                            {"rules", 1000},
                            {"file", nullptr},
                            {"prefixes", "24"},
                            {"masks", 16},
                            {"load", 0.5},
                            {"lookup", "bulk"},
                            {"access", "rcu"},
                            {"entry", "pointed"},
                            {"per_core", false},
                            {"action", "rewrite"},
                            {"meter", nullptr},
                            {"miss_drops", true},
                            {"changes_per_s", 100},
                            {"seed", 18446744073709551615u},
                            {"steered", true},
                            {"hit", 0.5},
                            {"popularity", "zipf"},
                            {"exponent", 0.99},
                            {"expected", 4}};
    nlohmann::json metered = table;
    metered.update({{"name", "metered"},
                    {"where", "egress"},
                    {"rules", 0},
                    {"file", "/tmp/rules.csv"},
                    {"action", "meter"},
                    {"changes_per_s", 0},
                    {"expected", 8}});
    metered["meter"] = {{"committed_bytes_per_s", 10}, {"peak_bytes_per_s", 20}, {"burst_bytes", 300}};
    return {{"traffic", "requests"}, {"body_offset", 16}, {"body_bytes", 40},          {"inner", true},
            {"ipv6", false},         {"change_cpu", 3},   {"tables", {table, metered}}};
}

// The plan as it is, and with a delay, other batches and another in-flight budget.
inline nlohmann::json valid_variants() {
    using nlohmann::json;
    const json plain = {
        {"name", "plain"}, {"delays", json::array()}, {"batch", json::object()}, {"inflight", nullptr}};
    json other = plain;
    other.update({{"name", "other"},
                  {"delays", {{{"endpoint", "client"}, {"stage", "app_tx"}, {"ns", 2.5}}}},
                  {"batch", {{"client", {{"app_tx", 64}, {"disp_tx", 1}}}, {"server", {{"nic_rx", 8}}}}},
                  {"inflight", 7}});
    return {{"settle_ns", 1000}, {"variants", {plain, other}}, {"order", {0, 1, 1}}};
}

inline nlohmann::json valid_plan() {
    const nlohmann::json handler = {{"name", "l_app"}, {"options", {{"state", "64"}}}};
    return {
        {"version", 3},
        {"hash", "0f"},
        {"title", "a plan"},
        {"seed", 18446744073709551615u},
        {"eal", {{"args", {"--no-huge", "-m", "256"}}, {"memory", "no-huge"}, {"file_prefix", "wt-test"}}},
        {"accounting", {{"level", "sampled"}, {"sample_every", 61}, {"interrupted_above_ns", 5000}}},
        {"phases",
         {{"warmup_ns", 0},
          {"duration_ns", 1},
          {"window_ns", 1},
          {"messages", 1000},
          {"drain_ns", 0},
          {"hold_windows", false}}},
        {"hello_wait_ns", nullptr},
        {"endpoints", {valid_endpoint("client"), valid_endpoint("server")}},
        {"workloads",
         {{{"name", "rpc"},
           {"request_bytes", 16},
           {"response_bytes", 4194304},
           {"request_sizes", nullptr},
           {"response_sizes", {{"kind", "weighted"}, {"bytes", {16, 4194304}}, {"weights", {1.5, 0}}}},
           {"source", {{"bytes", 1 << 20}, {"order", "rotating"}}},
           {"copies",
            {{"engine", "dma"},
             {"options", {{"device", "skeleton"}}},
             {"depth", 64},
             {"batch", 32},
             {"way", "pipelined"},
             {"at_least_bytes", 256},
             {"verify", true},
             {"timeout_ns", 1'000'000'000},
             {"lcores", {3}},
             {"model", nullptr}}},
           {"stream", nullptr},
           {"handler", handler},
           {"packet_handler", {{"name", "match_action"}, {"options", {{"depth", "64"}}}}},
           {"pipeline", valid_pipeline()},
           {"scan", false},
           {"extra_ticks", 0},
           {"timeout_ns", 1000000},
           {"client_applications", 1},
           {"client_slots", 32},
           {"load", open_load(1e6, "poisson")}}}},
        {"workers",
         {{{"lcore", 1},
           {"cpu", 0},
           {"stages",
            {{{"endpoint", 0}, {"stage", "app_tx"}, {"index", 0}},
             {{"endpoint", 0}, {"stage", "disp_tx"}, {"index", 1}}}}},
          {{"lcore", 2}, {"cpu", 1}, {"stages", {{{"endpoint", 1}, {"stage", "nic_rx"}, {"index", 1}}}}}}},
        {"record", "/tmp/record.pcap"},
        {"trace", {{"path", "/tmp/trace.bin"}, {"every", 997}, {"limit_events", 1000}}},
        {"raw_latency", {{"path", "/tmp/raw"}, {"limit", 10}}},
        {"variants", valid_variants()},
    };
}

// The plan without its client, and so without variants, which change both sides.
inline void leave_server(nlohmann::json &plan) {
    plan["endpoints"].erase(0);
    plan["workers"].erase(1);
    plan["variants"] = nullptr;
}

}  // namespace wt::test
