// What main does with workers that are not at the same point: windows that they leave one after the other,
// and loops that they are to end. Starts EAL on ordinary memory.
#include <thread>

#include "run/run_control.h"
#include "stages_rig.h"

namespace wt::test::windows_test {
namespace {

const needs_eal eal(64);

// Writes a window of the rig and returns its line.
json window(rig &r, uint32_t epoch) {
    write_window(r.f, "measure", epoch, now(), nullptr);
    return r.result();
}

// app_tx is in the next window when it sends what app_rx takes the responses of in this one.
TEST(windows, fewer_than_no_messages_are_not_in_flight) {
    json plan = rig_plan();
    part(plan, {"app_tx"});
    rig r(plan);
    stage &sends = r.at(client, app_tx);
    sends.current = &sends.stats[1];
    r.loops(1);
    r.f.signals.sending = false;
    r.loops(3);
    ASSERT_EQ(r.stats(client, app_rx).responses, 32u);
    EXPECT_EQ(window(r, 0)["workloads"][0]["in_flight"], 0);
    EXPECT_EQ(window(r, 1)["workloads"][0]["in_flight"], 0);
    sends.current = &sends.stats[0];
    r.f.signals.sending = true;
    r.run(client, app_tx);
    r.f.signals.sending = false;
    EXPECT_EQ(window(r, 0)["workloads"][0]["in_flight"], 32);
}

// The ends of a rig's wire, whose links are as the test says.
struct linked_rig : rig {
    static inline link_state states[2];
    port_operations of_client = ethdev_operations, of_server = ethdev_operations;
    run_control main{f, -1, {f, {}}, {}};

    linked_rig() : rig(rig_plan()) {
        states[client] = states[server] = link_state::up;
        of_client.link = [](const port &) { return states[client]; };
        of_server.link = [](const port &) { return states[server]; };
        of_client.drain = of_server.drain = f.ports[0].operations->drain;
        f.ports[client].operations = &of_client;
        f.ports[server].operations = &of_server;
    }
    std::string lines_so_far() {
        std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), 0);
        return pread(fd, text.data(), text.size(), 0), text;
    }
};

// A NIC's link may come back: the windows without it say so, and a phase says it while the run goes on.
TEST(links, time_without_one_is_in_its_window) {
    linked_rig r;
    r.main.when_lost = link_loss::is_booked;
    r.main.look_at_links();
    const auto down_in_window = [&] {
        const json ports = window(r, 0)["ports"];
        return std::pair{ports[client]["link_down_ns"].get<uint64_t>(),
                         ports[server]["link_down_ns"].get<uint64_t>()};
    };
    EXPECT_EQ(down_in_window(), (std::pair<uint64_t, uint64_t>{0, 0}));
    linked_rig::states[server] = link_state::down;
    while (r.f.endpoints[server].link_down_ns == 0) r.main.wait(r.main.now_ns() + ms);
    EXPECT_FALSE(r.main.ordered);
    const auto [of_client, of_server] = down_in_window();
    EXPECT_EQ(of_client, 0u);
    EXPECT_GT(of_server, 0u);
    linked_rig::states[server] = link_state::up;
    r.main.look_at_links();
    EXPECT_GT(down_in_window().second, 0u) << "it may have come up just now";
    r.main.look_at_links();
    EXPECT_EQ(down_in_window(), (std::pair<uint64_t, uint64_t>{0, 0}));
    const std::string said = r.lines_so_far();
    EXPECT_NE(said.find("running, though the link of the server is down"), said.npos);
    EXPECT_NE(said.find("running, and the link of the server is up again"), said.npos);
}

TEST(links, a_process_that_is_gone_ends_the_run) {
    linked_rig r;
    r.main.when_lost = link_loss::ends_run;
    r.main.wait(0);
    EXPECT_FALSE(r.main.ordered);
    linked_rig::states[client] = link_state::down;
    r.main.wait(0);
    EXPECT_EQ(r.main.ordered, end_reason::peer_lost);
}

// A worker that has no CPU wakes up late from a hold. The next one must not take it for held.
TEST(loops, have_ended_when_every_worker_is_in_a_new_one) {
    rig r(rig_plan());
    run_control main{r.f, -1, {r.f, {}}, {}};
    worker &w = r.f.workers[0];
    std::thread late([&] {
        const std::atomic<hold_state> &held = r.f.signals.held;
        while (held.load() == hold_state::running) std::this_thread::yield();
        w.parked = true;
        while (held.load() != hold_state::running) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        w.parked = false;
    });
    main.drain(false, true);
    EXPECT_FALSE(w.parked);
    late.join();
}

}  // namespace
}  // namespace wt::test::windows_test
