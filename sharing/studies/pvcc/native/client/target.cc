#include "client/target.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/random.h"
#include "core/refusal.h"

namespace wt::client {

namespace {

constexpr uint32_t due_at_once = 64;  // requests between two looks at the responses
constexpr int load_patience_ms = 10'000;
constexpr double never_ns = 1e15;

std::string place(const target_plan &p) { return p.name + " at " + p.address + ":" + std::to_string(p.port); }

int connected(const target_plan &p) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(p.port);
    if (::inet_pton(AF_INET, p.address.c_str(), &to.sin_addr) != 1)
        throw refusal(place(p) + ": not an IPv4 address");
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) throw refusal(place(p) + ": no socket: " + std::strerror(errno));
    const int yes = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (::connect(descriptor, reinterpret_cast<const sockaddr *>(&to), sizeof to) != 0) {
        const int why = errno;
        ::close(descriptor);
        throw refusal(place(p) + ": cannot connect: " + std::strerror(why));
    }
    ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
    return descriptor;
}

// A last phase without requests, so that the cursor always has a phase.
arrival_phases arrivals_of(const target_plan &p) {
    const double for_ever = std::numeric_limits<double>::infinity();
    arrival_phases all;
    for (const load_phase &phase : p.phases)
        all.list.push_back(
            {static_cast<double>(phase.duration_ns), 1e9 / phase.per_s, for_ever, 0, phase.poisson});
    all.list.push_back({for_ever, never_ns, for_ever, 0, false});
    all.lead = static_cast<uint32_t>(p.phases.size());
    return all;
}

}  // namespace

target::target(const target_plan &plan, uint64_t window_ns, size_t windows)
    : plan_(plan),
      window_ns_(window_ns),
      arrivals_(arrivals_of(plan)),
      random_(mix64(plan.seed)),
      windows_(windows) {
    uint64_t end = 0;
    for (const load_phase &phase : plan.phases) {
        phase_ends_ns_.push_back(end += phase.duration_ns);
        phases_.push_back(std::make_unique<phase_account>());
        static_cast<counted &>(*phases_.back()) = {};
        phases_.back()->latency.clear();
        phases_.back()->latency_sent.clear();
    }
    for (window_account &w : windows_) {
        static_cast<counted &>(w) = {};
        w.latency.clear();
    }
    for (uint32_t i = 0; i < plan.connections; i++)
        connections_.emplace_back(connected(plan), plan.dialect, plan.inflight, plan.value);
    lost_.resize(plan.connections);
}

void target::load() {
    if (!plan_.load_keys) return;
    connection &first = connections_.front();
    for (uint64_t asked = 0, stored = 0; stored < plan_.keys;) {
        while (asked < plan_.keys && first.has_room()) first.put({{asked++, plan_.value, true}, 0, 0});
        first.flush();
        pollfd readable{first.descriptor(), POLLIN, 0};
        if (::poll(&readable, 1, load_patience_ms) == 0)
            throw refusal(place(plan_) + ": no response while keys are stored");
        batch_.clear();
        first.read(batch_);
        for (const responses &a : batch_)
            if (a.what != outcome::right)
                throw refusal(place(plan_) + ": does not store key " + std::to_string(a.of.asked.key));
        stored += batch_.size();
        if (!first.open()) throw refusal(place(plan_) + ": closed the connection while keys were stored");
    }
}

void target::start(uint64_t now_ns) {
    start_ns_ = now_ns;
    end_ns_ = now_ns + phase_ends_ns_.back();
    cursor_ = arrival_cursor_at_start(arrivals_, 1, plan_.seed);
    cursor_.start = now_ns;
}

template <typename Change>
void target::at(uint64_t intended_ns, Change change) {
    const uint64_t since = intended_ns - start_ns_;
    const auto phase = std::upper_bound(phase_ends_ns_.begin(), phase_ends_ns_.end(), since);
    const size_t last = phases_.size() - 1;
    change(*phases_[std::min(static_cast<size_t>(phase - phase_ends_ns_.begin()), last)],
           windows_[std::min(static_cast<size_t>(since / window_ns_), windows_.size() - 1)]);
}

connection *target::with_room() {
    for (size_t i = 0; i < connections_.size(); i++) {
        connection &c = connections_[next_];
        next_ = next_ + 1 < connections_.size() ? next_ + 1 : 0;
        if (c.has_room()) return &c;
    }
    return nullptr;
}

void target::offer(uint64_t intended_ns, uint64_t now_ns) {
    connection *c = with_room();
    at(intended_ns, [&](counted &p, counted &w) {
        p.offered++, w.offered++;
        if (c)
            p.sent++, w.sent++;
        else
            p.unsent++, w.unsent++;
    });
    if (!c) return;
    const bool set = random_below(&random_, 100) >= plan_.get_percent;
    c->put({{random_below(&random_, plan_.keys), plan_.value, set}, intended_ns, now_ns});
    waiting_++;
}

void target::send_due(uint64_t now_ns) {
    uint64_t intended[due_at_once];
    const uint32_t due = arrival_walk_due(cursor_, std::min(now_ns, end_ns_), due_at_once, intended);
    for (uint32_t i = 0; i < due; i++) offer(intended[i], now_ns);
    for (size_t i = 0; i < connections_.size(); i++) {
        connections_[i].flush();
        if (!connections_[i].open()) lose(connections_[i]);
    }
}

void target::receive(size_t index, uint64_t now_ns) {
    connection &c = connections_[index];
    batch_.clear();
    c.read(batch_);
    for (const responses &a : batch_) book(a, now_ns);
    if (!c.open()) lose(c);
}

void target::book(const responses &a, uint64_t now_ns) {
    waiting_--;
    const uint64_t latency = now_ns - a.of.intended_ns;
    at(a.of.intended_ns, [&](phase_account &p, window_account &w) {
        p.responses[static_cast<size_t>(a.what)]++;
        w.responses[static_cast<size_t>(a.what)]++;
        if (a.what != outcome::right) return;
        p.latency.add(latency);
        p.latency_sent.add(now_ns - a.of.sent_ns);
        w.latency.add(latency);
    });
}

void target::lose(connection &c) {
    const size_t index = static_cast<size_t>(&c - connections_.data());
    if (lost_[index]) return;
    lost_[index] = true;
    if (c.ended() == ending::malformed) malformed_++;
    if (c.ended() == ending::closed) resets_++;
    c.each_waiting([&](const pending &p) {
        waiting_--;
        at(p.intended_ns, [](counted &phase, counted &window) { phase.lost++, window.lost++; });
    });
}

void target::count_as_lost() {
    for (connection &c : connections_) lose(c);
}

}  // namespace wt::client
