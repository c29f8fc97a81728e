// windtunnel-client: sends requests to TCP servers at their intended times (open loop).
//
//   windtunnel-client PLAN
//
// One thread, which polls on its own CPU. It prints JSON lines: ready and result; or error, with exit code 2.
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>

#include "client/target.h"
#include "core/refusal.h"
#include "core/run_on_cpu.h"
#include "report/lines.h"

namespace wt::client {

static constexpr int events_at_once = 64;
static constexpr uint64_t lead_in_ns = 5'000'000;

static uint64_t clock_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

static uint64_t place_of(size_t target, size_t connection) { return uint64_t{target} << 32 | connection; }

// The times of successive clock reads: the longest gap between two is how late the client can
// have been.
struct own_time {
    uint64_t start_ns, end_ns, longest_gap_ns;
};

static own_time execute_run(std::vector<std::unique_ptr<target>> &targets, const client_plan &plan) {
    const int set = ::epoll_create1(EPOLL_CLOEXEC);
    if (set < 0) throw refusal(std::string("epoll: ") + std::strerror(errno));
    for (size_t t = 0; t < targets.size(); t++) {
        const auto &all = targets[t]->connections();
        for (size_t c = 0; c < all.size(); c++) {
            epoll_event e{EPOLLIN, {.u64 = place_of(t, c)}};
            if (::epoll_ctl(set, EPOLL_CTL_ADD, all[c].descriptor(), &e) != 0)
                throw refusal(std::string("epoll: ") + std::strerror(errno));
        }
    }
    own_time own{clock_ns() + lead_in_ns, 0, 0};
    for (auto &t : targets) t->start(own.start_ns);
    const uint64_t end = own.start_ns + plan.duration_ns();
    uint64_t before = own.start_ns;
    for (;;) {
        const uint64_t now = clock_ns();
        if (now < own.start_ns) continue;
        own.longest_gap_ns = std::max(own.longest_gap_ns, now - before);
        before = now;
        bool waits = false;
        for (auto &t : targets) {
            t->send_due(now);
            waits |= t->waits();
        }
        if (now >= end && (!waits || now >= end + plan.patience_ns)) break;
        epoll_event events[events_at_once];
        const int ready = ::epoll_wait(set, events, events_at_once, 0);
        const uint64_t then = ready > 0 ? clock_ns() : 0;
        for (int i = 0; i < ready; i++) {
            target &t = *targets[events[i].data.u64 >> 32];
            const size_t c = events[i].data.u64 & UINT32_MAX;
            t.receive(c, then);
            if (!t.connections()[c].open())
                ::epoll_ctl(set, EPOLL_CTL_DEL, t.connections()[c].descriptor(), nullptr);
        }
    }
    own.end_ns = before;
    for (auto &t : targets) t->count_as_lost();
    ::close(set);
    return own;
}

static json counted_json(const counted &c) {
    return {{"offered", c.offered},
            {"unsent", c.unsent},
            {"sent", c.sent},
            {"lost", c.lost},
            {"right", c.responses[static_cast<size_t>(outcome::right)]},
            {"missing", c.responses[static_cast<size_t>(outcome::missing)]},
            {"refused", c.responses[static_cast<size_t>(outcome::refused)]},
            {"wrong", c.responses[static_cast<size_t>(outcome::wrong)]}};
}

static json target_json(const target &t) {
    json phases = json::array(), windows = json::array();
    for (size_t i = 0; i < t.phases().size(); i++) {
        json phase = counted_json(*t.phases()[i]);
        phase["name"] = t.plan().phases[i].name;
        phase["duration_ns"] = t.plan().phases[i].duration_ns;
        phase["latency"] = histogram_json(t.phases()[i]->latency);
        phase["latency_sent"] = histogram_json(t.phases()[i]->latency_sent);
        phases.push_back(std::move(phase));
    }
    for (const window_account &w : t.windows()) {
        json window = counted_json(w);
        window["latency"] = histogram_json(w.latency);
        windows.push_back(std::move(window));
    }
    return {{"name", t.plan().name},
            {"resets", t.resets()},
            {"malformed", t.malformed()},
            {"phases", phases},
            {"windows", windows}};
}

static uint64_t cpu_ns() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

static void run(const char *file, line_writer &lines) {
    std::ifstream in(file);
    if (!in) throw refusal(std::string(file) + ": cannot be read");
    const client_plan plan = read_client_plan(std::string(std::istreambuf_iterator<char>(in), {}));
    if (!wt::run_on_cpu(plan.cpu))
        throw refusal("the client cannot run on CPU " + std::to_string(plan.cpu) + ": " +
                      std::strerror(errno));
    std::vector<std::unique_ptr<target>> targets;
    for (const target_plan &t : plan.targets)
        targets.push_back(std::make_unique<target>(t, plan.window_ns, plan.windows()));
    for (auto &t : targets) t->load();
    lines.write({{"type", "ready"}});
    const uint64_t used = cpu_ns();
    const own_time own = execute_run(targets, plan);
    json all = json::array();
    for (const auto &t : targets) all.push_back(target_json(*t));
    lines.write({{"type", "result"},
                 {"start_ns", own.start_ns},
                 {"end_ns", own.end_ns},
                 {"cpu_ns", cpu_ns() - used},
                 {"longest_gap_ns", own.longest_gap_ns},
                 {"targets", std::move(all)}});
}

}  // namespace wt::client

int main(int count, char **words) {
    wt::line_writer lines(STDOUT_FILENO);
    try {
        if (count != 2) throw wt::refusal("usage: windtunnel-client PLAN");
        wt::client::run(words[1], lines);
        return 0;
    } catch (const std::exception &e) {
        lines.write({{"type", "error"}, {"message", e.what()}, {"remedy", nullptr}});
        return 2;
    }
}
