// One server under load: its connections, when its requests fall due, and their outcomes.
//
// Everything is counted in the phase and in the window of the request's intended
// time.
#pragma once

#include <memory>
#include <vector>

#include "client/client_plan.h"
#include "client/connection.h"
#include "core/arrivals.h"
#include "core/histogram.h"

namespace wt::client {

// Requests: offered = unsent + sent; sent = with a response + lost. Unsent: no connection had room.
struct counted {
    uint64_t offered, unsent, sent, lost;
    uint64_t responses[outcomes];
};

struct phase_account : counted {
    latency_histogram latency, latency_sent;  // ns, from the intended and from the real time of sending
};

struct window_account : counted {
    batch_histogram latency;  // ns, within 6.25%
};

class target {
  public:
    // Connects. Throws refusal where no server listens.
    target(const target_plan &plan, uint64_t window_ns, size_t windows);

    // Stores every key, if the plan has it. Throws refusal where the server does not store them.
    void load();
    void start(uint64_t now_ns);
    // Sends what has fallen due, a bounded number of requests.
    void send_due(uint64_t now_ns);
    void receive(size_t connection, uint64_t now_ns);
    void count_as_lost();  // what still waits

    bool waits() const { return waiting_ != 0; }
    const target_plan &plan() const { return plan_; }
    const std::vector<connection> &connections() const { return connections_; }
    const std::vector<std::unique_ptr<phase_account>> &phases() const { return phases_; }
    const std::vector<window_account> &windows() const { return windows_; }
    uint64_t resets() const { return resets_; }
    uint64_t malformed() const { return malformed_; }

  private:
    connection *with_room();
    void offer(uint64_t intended_ns, uint64_t now_ns);
    void book(const responses &a, uint64_t now_ns);
    void lose(connection &c);
    template <typename Change>
    void at(uint64_t intended_ns, Change change);

    target_plan plan_;
    uint64_t window_ns_;
    arrival_phases arrivals_;
    arrival_cursor cursor_{};
    std::vector<uint64_t> phase_ends_ns_;  // since the start
    uint64_t start_ns_ = 0, end_ns_ = 0, random_;
    std::vector<connection> connections_;
    std::vector<bool> lost_;  // connections whose waiting requests are counted as lost
    size_t next_ = 0;
    uint64_t waiting_ = 0, resets_ = 0, malformed_ = 0;
    std::vector<std::unique_ptr<phase_account>> phases_;
    std::vector<window_account> windows_;
    std::vector<responses> batch_;
};

}  // namespace wt::client
