// What main does with workers that are not at the same point: windows that they leave one after the other, and
// loops that they are to end. Starts EAL on ordinary memory.
#include <thread>

#include "run/run_control.h"
#include "stages_rig.h"

namespace wt::test {
namespace {

using nlohmann::json;
using enum stage_kind;

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
}  // namespace wt::test

int main(int argc, char **argv) { return wt::test::run_all_on_eal(argc, argv, 64); }
