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
#include "frame_tools.h"
#include "run/run.h"
#include "stages/client_state.h"
#include "stages/server_state.h"
#include "suite.h"
#include "test_tools.h"
#include "valid_plan.h"

namespace wt::test {

using json = nlohmann::ordered_json;
using enum stage_kind;
using counts = std::map<std::string, uint64_t>;

// One application and one dispatcher a side, requests and responses of one segment; all stages on one worker.
json rig_plan();

// The rig's plan with `value` at `pointer`.
json with(const char *pointer, const json &value, json plan = rig_plan());

// Puts both sides' `stages` on a worker of their own, so that hand-overs to the others are rings.
void part(json &p, const std::vector<std::string> &stages);

enum : size_t { client = 0, server = 1 };

struct rig {
    int fd = memfd_create("lines", 0);
    plan p;
    tsc_clock clock = clock_start(1e9);
    line_writer lines{fd};
    run_state f{p, lines, clock};
    std::vector<rte_mbuf *> hoarded;

    // `change`: what the ports say of themselves, before anybody looks.
    explicit rig(const json &plan, const std::function<void(port &)> &change = {});
    ~rig();

    // The last line that was written.
    json result();

    stage &at(size_t endpoint, stage_kind kind);
    call_result run(size_t endpoint, stage_kind kind);
    // Every stage of an endpoint once, in the order of a loop.
    void loop(size_t endpoint);
    void loops(int count);
    stage_stats &stats(size_t endpoint, stage_kind kind) { return *at(endpoint, kind).current; }
    application &app(size_t endpoint) { return *f.endpoints[endpoint].applications[0]; }
    dispatcher &disp(size_t endpoint) { return *f.endpoints[endpoint].dispatchers[0]; }

    // What all stages of an endpoint have dropped, by name.
    counts drops(size_t endpoint);

    // Takes mbufs out of a pool until `left` are there.
    void hoard(size_t endpoint, uint32_t left);
    void give_back();

    // Puts frames on the wire as if the other side had sent them.
    void deliver(size_t to, const std::vector<byte_vector> &frames);
    // A frame to an endpoint from the other one.
    byte_vector frame(size_t to, const message_header &h, uint32_t body) const;
    byte_vector request(uint32_t slot, uint32_t generation, uint16_t segment = 0, uint16_t segments = 1,
                        uint32_t body = 70) const;
    // What is on the wire towards an endpoint, taken off it.
    std::vector<byte_vector> taken_off(size_t to);
    // What an endpoint's application sends at once, taken off the wire.
    std::vector<byte_vector> sent(size_t from);
};

// Both sides of a rig as if each were another host's.
struct handshakes {
    handshake client_side, server_side;
    explicit handshakes(rig &r);
};

}  // namespace wt::test
