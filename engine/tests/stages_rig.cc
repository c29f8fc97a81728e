#include "stages_rig.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ranges>

namespace wt::test {

json rig_plan() {
    json p = valid_plan();
    json stages = json::array();
    for (int endpoint : {0, 1}) {
        json &e = p["endpoints"][endpoint];
        e["applications"][0]["dispatchers"] = {0};
        e["dispatchers"].erase(1);
        e["vlan"] = nullptr;
        e["pool"].update({{"size", 511}, {"cache", 0}});
        e["port"].update(R"({"options": {}, "queues": 1, "rx_descriptors": 128, "tx_descriptors": 128,
                             "rx_free_thresh": null, "tx_free_thresh": null, "tx_rs_thresh": null,
                             "faults": null, "link": null})"_json);
        for (auto &batch : e["batch"]) batch = 32;
        for (const char *stage : {"nic_rx", "disp_rx", "app_rx", "app_tx", "disp_tx", "nic_tx"})
            if (endpoint == 0 || std::string(stage) != "app_tx")
                stages.push_back({{"endpoint", endpoint}, {"stage", stage}, {"index", 0}});
    }
    p["workers"] = {{{"lcore", 1}, {"cpu", 0}, {"stages", stages}}};
    p["probe_pairs"] = json::array();
    p["workloads"][0].update(R"({
        "request_bytes": 86, "response_bytes": 86, "response_sizes": null,
        "handler": {"name": "l_app", "options": {}}, "packet_handler": null, "pipeline": null,
        "timeout_ns": 1000000000,
        "load": {"mode": "closed", "phases": [], "lead": 0}})"_json);
    p["accounting"]["level"] = "counts";
    for (const char *part : {"record", "trace", "raw_latency", "variants"}) p[part] = nullptr;
    return p;
}

json with(const char *pointer, const json &value, json plan) {
    plan[json::json_pointer(pointer)] = value;
    return plan;
}

void part(json &p, const std::vector<std::string> &stages) {
    json other = {{"lcore", 2}, {"cpu", 0}, {"stages", json::array()}}, rest = other["stages"];
    for (auto &s : p["workers"][0]["stages"])
        (std::ranges::find(stages, s["stage"].get<std::string>()) != stages.end() ? other["stages"] : rest)
            .push_back(s);
    p["workers"][0]["stages"] = rest;
    p["workers"].push_back(other);
}

rig::rig(const json &plan, const std::function<void(port &)> &change) : p(read_plan(plan.dump())) {
    lines.set_clock(clock);
    open_pools(f);
    f.ports = open_ports(p, f.pools);
    if (change) std::ranges::for_each(f.ports, change);
    open_endpoints(f);
    open_workers(f);
    f.signals.sending = true;
}

rig::~rig() {
    give_back();
    write_window(f, "measure", 0, rte_rdtsc(), nullptr);
    write_result(f, {end_reason::duration, 1});
    for (size_t e : {client, server})
        EXPECT_EQ(rte_mempool_avail_count(f.pools[e]), p.endpoints[e].pool.size)
            << side_names[e] << " misses mbufs";
    const json at_last = result();
    for (const char *part : {"mbufs", "messages"})
        for (const auto &ledger : at_last[part]) EXPECT_EQ(ledger["missing"], 0) << ledger;
    close(fd);
}

json rig::result() {
    std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), 0);
    EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1));
}

stage &rig::at(size_t endpoint, stage_kind kind) {
    for (worker &w : f.workers)
        for (stage &s : w.stages)
            if (s.place.endpoint == endpoint && s.place.stage == kind) return s;
    throw std::out_of_range("no such stage");
}

call_result rig::run(size_t endpoint, stage_kind kind) {
    stage &s = at(endpoint, kind);
    return s.run(s.role, {s.current, 0});
}

void rig::loop(size_t endpoint) {
    for (worker &w : f.workers)
        for (stage &s : w.stages)
            if (s.place.endpoint == endpoint) s.run(s.role, {s.current, 0});
}

void rig::loops(int count) {
    for (int i = 0; i < count; i++) loop(client), loop(server);
}

counts rig::drops(size_t endpoint) {
    counts by_name;
    for (worker &w : f.workers)
        for (stage &s : w.stages)
            for (uint32_t i = 0; s.place.endpoint == endpoint && i < drop_reasons; i++)
                if (s.current->drops[i]) by_name[drop_names[i]] += s.current->drops[i];
    return by_name;
}

void rig::hoard(size_t endpoint, uint32_t left) {
    while (rte_mempool_avail_count(f.pools[endpoint]) > left)
        hoarded.push_back(rte_pktmbuf_alloc(f.pools[endpoint]));
}

void rig::give_back() {
    rte_pktmbuf_free_bulk(hoarded.data(), static_cast<unsigned>(hoarded.size()));
    hoarded.clear();
}

void rig::deliver(size_t to, const std::vector<byte_vector> &frames) {
    for (const byte_vector &frame : frames) {
        rte_mbuf *m = rte_pktmbuf_alloc(f.pools[1 - to]);
        ASSERT_NE(m, nullptr);
        std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size())), frame.data(), frame.size());
        ASSERT_EQ(rte_eth_tx_burst(f.endpoints[1 - to].port->id, 0, &m, 1), 1);
    }
}

byte_vector rig::frame(size_t to, const message_header &h, uint32_t body) const {
    const endpoint_plan &us = p.endpoints[to], &from = p.endpoints[1 - to];
    byte_vector bytes(frame_header_bytes + message_header_bytes + body, 0x5a);
    message_header_write(bytes.data() + frame_header_bytes, h);
    frame_template t = frame_prepare({*from.mac, *us.mac, from.ip.v4, us.ip.v4, from.udp_port, us.udp_port});
    frame_write(bytes.data(), t, message_header_bytes + body);
    return bytes;
}

byte_vector rig::request(uint32_t slot, uint32_t generation, uint16_t segment, uint16_t segments,
                         uint32_t body) const {
    return frame(server, {message_kind::request, 0, 0, slot, generation, segment, segments}, body);
}

std::vector<byte_vector> rig::taken_off(size_t to) {
    std::vector<byte_vector> frames;
    rte_mbuf *m;
    while (rte_eth_rx_burst(f.endpoints[to].port->id, 0, &m, 1) == 1) {
        const auto *bytes = rte_pktmbuf_mtod(m, const uint8_t *);
        frames.emplace_back(bytes, bytes + m->data_len);
        rte_pktmbuf_free(m);
    }
    return frames;
}

std::vector<byte_vector> rig::sent(size_t from) {
    for (const auto kind : {stage_kind::app_tx, stage_kind::disp_tx, stage_kind::nic_tx}) run(from, kind);
    return taken_off(1 - from);
}

handshakes::handshakes(rig &r) {
    client_side.us = {.version = hello_version,
                      .from_server = false,
                      .state = session_state::none,
                      .status = session_status::none,
                      .engine = engine_text_of("1"),
                      .client = 7,
                      .server = 0,
                      .plan = {}};
    server_side.us = client_side.us;
    server_side.us.from_server = true;
    server_side.us.client = 0;
    server_side.us.server = 8;
    r.disp(client).control.handshake = &client_side;
    r.disp(server).control.handshake = &server_side;
}

}  // namespace wt::test
