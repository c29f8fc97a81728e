// Both endpoints of a plan on a ring wire, opened as a run opens them, with no worker: a test calls the
// stages one by one.
//
// When the rig goes, the ledger that every run ends with must close, and every mbuf must be back in its
// pool.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "control/responder.h"
#include "core/inflight.h"
#include "core/mbufs.h"
#include "core/message.h"
#include "core/packet.h"
#include "eal_main.h"
#include "frame_tools.h"
#include "run/run.h"
#include "stages/client_state.h"
#include "stages/server_state.h"
#include "valid_plan.h"

namespace wt::test {

// One application and one dispatcher a side, requests and responses of one segment; all stages on one worker.
inline nlohmann::json rig_plan() {
    using nlohmann::json;
    json p = valid_plan();
    json stages = json::array();
    for (int endpoint : {0, 1}) {
        json &e = p["endpoints"][endpoint];
        e["applications"][0]["dispatchers"] = {0};
        e["dispatchers"].erase(1);
        e["vlan"] = nullptr;
        e["pool"].update({{"size", 511}, {"cache", 0}});
        e["port"].update({{"options", json::object()},
                          {"queues", 1},
                          {"rx_descriptors", 128},
                          {"tx_descriptors", 128},
                          {"rx_free_thresh", nullptr},
                          {"tx_free_thresh", nullptr},
                          {"tx_rs_thresh", nullptr},
                          {"faults", nullptr},
                          {"link", nullptr}});
        for (auto &batch : e["batch"]) batch = 32;
        for (const char *stage : {"nic_rx", "disp_rx", "app_rx", "app_tx", "disp_tx", "nic_tx"})
            if (endpoint == 0 || std::string(stage) != "app_tx")
                stages.push_back({{"endpoint", endpoint}, {"stage", stage}, {"index", 0}});
    }
    p["workers"] = {{{"lcore", 1}, {"cpu", 0}, {"stages", stages}}};
    p["workloads"][0].update({{"request_bytes", 86},
                              {"response_bytes", 86},
                              {"handler", {{"name", "l_app"}, {"options", json::object()}}},
                              {"packet_handler", nullptr},
                              {"pipeline", nullptr},
                              {"timeout_ns", 1'000'000'000},
                              {"response_sizes", nullptr},
                              {"source", nullptr},
                              {"stream", nullptr},
                              {"copies", nullptr},
                              {"load", {{"mode", "closed"}, {"phases", json::array()}, {"lead", 0}}}});
    p["accounting"]["level"] = "counts";
    p["record"] = nullptr;
    p["trace"] = nullptr;
    p["raw_latency"] = nullptr;
    p["variants"] = nullptr;
    return p;
}

// Puts both sides' `stages` on a worker of their own, so that hand-overs to the others are rings.
inline void part(nlohmann::json &p, const std::vector<std::string> &stages) {
    nlohmann::json other = {{"lcore", 2}, {"cpu", 0}, {"stages", nlohmann::json::array()}},
                   rest = other["stages"];
    for (auto &s : p["workers"][0]["stages"])
        (std::find(stages.begin(), stages.end(), s["stage"].get<std::string>()) != stages.end()
             ? other["stages"]
             : rest)
            .push_back(s);
    p["workers"][0]["stages"] = rest;
    p["workers"].push_back(other);
}

enum : size_t { client = 0, server = 1 };

struct rig {
    int fd = memfd_create("lines", 0);
    plan p;
    tsc_clock clock = clock_start(1e9);
    line_writer lines{fd};
    run_state f{p, lines, clock};
    std::vector<rte_mbuf *> hoarded;

    // `change`: what the ports say of themselves, before anybody looks.
    explicit rig(const nlohmann::json &plan, const std::function<void(port &)> &change = {})
        : p(read_plan(plan.dump())) {
        lines.set_clock(clock);
        open_pools(f);
        f.ports = open_ports(p, f.pools);
        if (change) std::ranges::for_each(f.ports, change);
        open_endpoints(f);
        open_workers(f);
        f.signals.sending = true;
    }

    ~rig() {
        give_back();
        write_window(f, "measure", 0, rte_rdtsc(), nullptr);
        write_result(f, {end_reason::duration, 1});
        for (size_t e : {client, server})
            EXPECT_EQ(rte_mempool_avail_count(f.pools[e]), p.endpoints[e].pool.size)
                << side_names[e] << " misses mbufs";
        const nlohmann::json at_last = result();
        for (const char *part : {"mbufs", "messages"})
            for (const auto &ledger : at_last[part]) EXPECT_EQ(ledger["missing"], 0) << ledger;
        close(fd);
    }

    nlohmann::json result() {
        std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), 0);
        EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
        return nlohmann::json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1));
    }

    stage &at(size_t endpoint, stage_kind kind) {
        for (worker &w : f.workers)
            for (stage &s : w.stages)
                if (s.place.endpoint == endpoint && s.place.stage == kind) return s;
        throw std::out_of_range("no such stage");
    }
    call_result run(size_t endpoint, stage_kind kind) {
        stage &s = at(endpoint, kind);
        return s.run(s.role, {s.current, 0});
    }
    // Every stage of an endpoint once, in the order of a loop.
    void loop(size_t endpoint) {
        for (worker &w : f.workers)
            for (stage &s : w.stages)
                if (s.place.endpoint == endpoint) s.run(s.role, {s.current, 0});
    }
    void loops(int count) {
        for (int i = 0; i < count; i++) loop(client), loop(server);
    }
    stage_stats &stats(size_t endpoint, stage_kind kind) { return *at(endpoint, kind).current; }
    application &app(size_t endpoint) { return *f.endpoints[endpoint].applications[0]; }
    dispatcher &disp(size_t endpoint) { return *f.endpoints[endpoint].dispatchers[0]; }

    // What all stages of an endpoint have dropped, by name.
    std::map<std::string, uint64_t> drops(size_t endpoint) {
        std::map<std::string, uint64_t> found;
        for (worker &w : f.workers)
            for (stage &s : w.stages)
                for (uint32_t i = 0; s.place.endpoint == endpoint && i < drop_reasons; i++)
                    if (s.current->drops[i]) found[drop_names[i]] += s.current->drops[i];
        return found;
    }

    // Takes mbufs out of a pool until `left` are there.
    void hoard(size_t endpoint, uint32_t left) {
        while (rte_mempool_avail_count(f.pools[endpoint]) > left)
            hoarded.push_back(rte_pktmbuf_alloc(f.pools[endpoint]));
    }
    void give_back() {
        rte_pktmbuf_free_bulk(hoarded.data(), static_cast<unsigned>(hoarded.size()));
        hoarded.clear();
    }

    // Puts frames on the wire as if the other side had sent them.
    void deliver(size_t to, const std::vector<byte_vector> &frames) {
        for (const byte_vector &frame : frames) {
            rte_mbuf *m = rte_pktmbuf_alloc(f.pools[1 - to]);
            ASSERT_NE(m, nullptr);
            std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(frame.size())), frame.data(),
                        frame.size());
            ASSERT_EQ(rte_eth_tx_burst(f.endpoints[1 - to].port->id, 0, &m, 1), 1);
        }
    }

    // A frame to an endpoint from the other one.
    byte_vector frame(size_t to, const message_header &h, uint32_t body) const {
        const endpoint_plan &us = p.endpoints[to], &from = p.endpoints[1 - to];
        byte_vector bytes(frame_header_bytes + message_header_bytes + body, 0x5a);
        message_header_write(bytes.data() + frame_header_bytes, h);
        frame_template t =
            frame_prepare({*from.mac, *us.mac, from.ip.v4, us.ip.v4, from.udp_port, us.udp_port});
        frame_write(bytes.data(), t, message_header_bytes + body);
        return bytes;
    }
    byte_vector request(uint32_t slot, uint32_t generation, uint16_t segment = 0, uint16_t segments = 1,
                        uint32_t body = 70) const {
        return frame(server, {message_kind::request, 0, 0, slot, generation, segment, segments}, body);
    }

    // What is on the wire towards an endpoint, taken off it.
    std::vector<byte_vector> taken_off(size_t to) {
        std::vector<byte_vector> frames;
        rte_mbuf *m;
        while (rte_eth_rx_burst(f.endpoints[to].port->id, 0, &m, 1) == 1) {
            const auto *bytes = rte_pktmbuf_mtod(m, const uint8_t *);
            frames.emplace_back(bytes, bytes + m->data_len);
            rte_pktmbuf_free(m);
        }
        return frames;
    }
};

}  // namespace wt::test
