// What the slicers compute: shares, turns, slices from switches, and the hand-over of numbers.
// No thread is changed.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>

#include "slicers/balance.h"
#include "slicers/mechanisms.h"
#include "slicers/slices.h"
#include "slicers/task.h"
#include "slicers/tenant_plan.h"

namespace wt {
namespace {

roster members_of(const std::vector<uint32_t> &weights) {
    roster members;
    for (size_t i = 0; i < weights.size(); i++)
        members.push_back({static_cast<int>(i) + 1, weights[i], 0, 1});
    return members;
}

TEST(turns, a_round_has_a_slice_a_member_and_shares_follow_weights) {
    const roster members = members_of({128, 64, 32, 16});
    double round = 0;
    for (size_t i = 0; i < members.size(); i++)
        round += own_ns(members, turn_takers(members.size(), true), i, {100'000, 10'000}) + 10'000;
    EXPECT_DOUBLE_EQ(round, 400'000);
    const turn_takers all(members.size(), true);
    EXPECT_DOUBLE_EQ(own_ns(members, all, 0, {100'000, 10'000}),
                     8 * own_ns(members, all, 3, {100'000, 10'000}));
}

TEST(turns, short_slices_of_many_members_have_no_rounding_loss) {
    std::vector<uint32_t> weights(32);
    std::iota(weights.begin(), weights.end(), 1);
    const roster members = members_of(weights);
    turn_keeper keeper(20'000);
    keeper.begin(members);
    std::vector<uint64_t> ran(members.size());
    uint64_t all = 0, shortest = UINT64_MAX;
    while (all < 10'000'000'000) {
        size_t whose;
        const turn_takers takers(members.size(), true);
        const uint64_t turn = keeper.next(members, takers, {50'000, 15'000}, whose) - 15'000;
        ran[whose] += turn;
        all += turn;
        shortest = std::min(shortest, turn);
    }
    EXPECT_GE(shortest, 20'000u);
    for (size_t i = 0; i < members.size(); i++)
        EXPECT_NEAR(static_cast<double>(ran[i]) / static_cast<double>(all),
                    (static_cast<double>(i) + 1) / 528.0, 1e-4);
}

TEST(turns, an_empty_set_has_no_turn) {
    turn_keeper keeper(20'000);
    keeper.begin({});
    size_t whose = 7;
    EXPECT_EQ(keeper.next({}, {}, {50'000, 0}, whose), 0u);
    EXPECT_EQ(whose, 7u);
}

TEST(turns, who_sleeps_has_no_turn_and_lengthens_no_round) {
    const roster members = members_of({1, 100, 1, 3, 100});
    const turn_takers takers = {true, false, true, true, false};
    turn_keeper keeper(20'000);
    keeper.begin(members);
    std::vector<uint64_t> ran(members.size());
    for (int turn = 0; turn < 3; turn++) {
        size_t whose;
        const uint64_t length = keeper.next(members, takers, {100'000, 0}, whose);
        ran[whose] += length;
    }
    EXPECT_EQ(ran, (std::vector<uint64_t>{60'000, 0, 60'000, 180'000, 0}));
}

TEST(turns, one_alone_is_not_raised) {
    const roster members = members_of({1, 1});
    turn_keeper keeper(20'000);
    keeper.begin(members);
    size_t whose = 7;
    EXPECT_EQ(keeper.next(members, {false, true}, {50'000, 0}, whose), 0u);
    EXPECT_EQ(whose, 7u);
}

// In clock ticks since boot.
uint64_t started(int tid) {
    std::ifstream file("/proc/" + std::to_string(tid) + "/stat");
    std::string field;
    for (int number = 1; number <= 22; number++) file >> field;  // this program's name has no space
    return std::stoull(field);
}

TEST(tasks, a_number_that_is_another_threads_by_now_has_ended) {
    const int tid = own_tid();
    EXPECT_TRUE(task(tid, started(tid)).runs());
    EXPECT_TRUE(task(tid, started(tid)).lives());
    EXPECT_TRUE(task_times(tid, started(tid)).read());
    EXPECT_FALSE(task(tid, started(tid) - 1).runs());
    EXPECT_FALSE(task(tid, started(tid) - 1).lives());
    EXPECT_FALSE(task_times(tid, started(tid) - 1).read());
}

TEST(tasks, what_is_done_to_a_thread_that_has_ended_is_not_done_to_whoever_has_its_number) {
    std::thread([] {
        const int tid = own_tid(), nice = getpriority(PRIO_PROCESS, 0);
        const sched_param none = {0};
        ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
        const task ended(tid, started(tid) - 1);
        EXPECT_FALSE(ended.raise());
        EXPECT_FALSE(ended.lower());
        EXPECT_FALSE(ended.set_nice(nice + 1));
        EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
        EXPECT_EQ(getpriority(PRIO_PROCESS, 0), nice);
        EXPECT_TRUE(task(tid, started(tid)).lower());
        EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    }).join();
}

// A process whose second thread execs `sleep` when it is told to.
struct execing {
    int told[2], tell[2];
    pid_t pid;
    int second = 0;

    execing() {
        EXPECT_EQ(pipe(told), 0);
        EXPECT_EQ(pipe(tell), 0);
        pid = fork();
        if (pid == 0) {
            std::thread([this] {
                const int tid = own_tid();
                char go;
                if (write(told[1], &tid, sizeof tid) == sizeof tid && read(tell[0], &go, 1) == 1)
                    execlp("sleep", "sleep", "600", nullptr);
                _exit(1);
            }).join();
        }
        EXPECT_EQ(read(told[0], &second, sizeof second), static_cast<ssize_t>(sizeof second));
    }
    void exec() const {
        EXPECT_EQ(write(tell[1], "!", 1), 1);
        while (std::ifstream("/proc/" + std::to_string(second) + "/comm").good()) std::this_thread::yield();
    }
    ~execing() {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        for (const int end : {told[0], told[1], tell[0], tell[1]}) close(end);
    }
};

TEST(tasks, a_raised_thread_that_execs_is_lowered_as_the_first_of_its_process) {
    const execing process;
    const task second(process.second, started(process.second));
    const first_thread first(process.second);
    try {
        ASSERT_TRUE(second.raise());
    } catch (const thread_refusal &) {
        GTEST_SKIP() << "needs CAP_SYS_NICE";
    }
    first.lower();
    EXPECT_EQ(sched_getscheduler(process.second), SCHED_FIFO | SCHED_RESET_ON_FORK);
    process.exec();
    EXPECT_EQ(sched_getscheduler(process.pid), SCHED_FIFO | SCHED_RESET_ON_FORK);
    EXPECT_FALSE(second.lower());
    first.lower();
    EXPECT_EQ(sched_getscheduler(process.pid), SCHED_OTHER);
    const sched_param own = {raised_priority + 1};
    ASSERT_EQ(sched_setscheduler(process.pid, SCHED_FIFO | SCHED_RESET_ON_FORK, &own), 0);
    first.lower();
    EXPECT_EQ(sched_getscheduler(process.pid), SCHED_FIFO | SCHED_RESET_ON_FORK) << "it has that itself";
}

TEST(tasks, a_thread_that_waits_does_not_run) {
    std::atomic<int> tid = 0;
    std::atomic<bool> busy = true;
    std::thread other([&] {
        tid = own_tid();
        while (busy) {
        }
        busy.wait(false);
    });
    while (!tid) std::this_thread::yield();
    task state(tid, started(tid));
    EXPECT_TRUE(state.runs());
    busy = false;
    while (state.runs()) std::this_thread::yield();
    EXPECT_TRUE(state.lives());
    busy = true;
    busy.notify_all();
    other.join();
    while (state.lives())
        std::this_thread::yield();  // the kernel takes the thread away later than join returns
    EXPECT_FALSE(state.runs());
}

TEST(tasks, more_files_may_be_open_than_a_shell_allows) {
    rlimit before, now;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few = {before.rlim_max / 2, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    open_many_files();
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
    EXPECT_EQ(now.rlim_cur, before.rlim_max);
    setrlimit(RLIMIT_NOFILE, &before);
}

// A core whose kernel shares by nice values: 1.25 a step.
std::vector<interval_times> kernel_shares(const balance &b, uint64_t interval_ns) {
    double all = 0;
    for (const balanced &one : b.state()) all += std::pow(1.25, -one.nice);
    std::vector<interval_times> times;
    for (const balanced &one : b.state()) {
        const auto ran =
            static_cast<uint64_t>(static_cast<double>(interval_ns) * std::pow(1.25, -one.nice) / all);
        times.push_back({ran, interval_ns - ran});
    }
    return times;
}

TEST(balance, shares_between_two_nice_values_follow_the_weights) {
    // 100 to 89: one step of nice is 100 to 80
    roster members = {{1, 100, 0, 0}, {2, 89, 0, 1}};
    balance b;
    b.begin(members, {-1, -1});
    double ran[2] = {};
    for (int i = 0; i < 100; i++) {
        const auto times = kernel_shares(b, 100'000'000);
        for (int m = 0; m < 2; m++) ran[m] += static_cast<double>(times[m].ran_ns);
        b.step(members, times, 100'000'000);
    }
    EXPECT_NEAR(ran[0] / (ran[0] + ran[1]), 100.0 / 189, 0.003);
}

TEST(balance, a_tenant_that_slept_gets_no_credit) {
    roster members = {{1, 256, 0, 1}, {2, 256, 0, 1}};
    balance b;
    b.begin(members, {-1, -1});
    for (int i = 0; i < 50; i++) b.step(members, {{95'000'000, 5'000'000}, {1'000'000, 0}}, 100'000'000);
    EXPECT_EQ(b.state()[1].owed_ns, 0);
    EXPECT_EQ(b.state()[0].owed_ns, 0);  // alone among those that wanted all, it had what it should have
}

TEST(balance, a_remaining_member_keeps_its_credit) {
    roster members = {{1, 100, 0, 0}, {2, 89, 0, 1}};
    balance b;
    b.begin(members, {-1, -1});
    b.step(members, {{40'000'000, 60'000'000}, {60'000'000, 40'000'000}}, 100'000'000);
    const double owed = b.state()[1].owed_ns;
    ASSERT_LT(owed, 0);
    b.begin({{3, 100, 0, 0}, {2, 89, 0, 1}}, {-1, 1});
    EXPECT_EQ(b.state()[0].owed_ns, 0);
    EXPECT_EQ(b.state()[1].owed_ns, owed);
    EXPECT_EQ(b.state()[1].nice, 1);
}

TEST(slices, a_wake_of_the_slicer_ends_no_slice_and_any_other_thread_does) {
    slice_keeper keeper;
    keeper.set_members({10, 20}, 99);
    uint64_t at = 1000;
    const auto run = [&](int tid, uint64_t ns) {
        keeper.note(tid, true, at);
        at += ns;
        keeper.note(tid, false, at);
    };
    run(10, 100);
    run(99, 5);
    run(10, 50);  // goes on: 150
    run(99, 5);
    run(20, 200);
    run(7, 30);  // another thread
    run(20, 40);
    run(0, 70);  // nobody
    run(10, 60);
    EXPECT_EQ(keeper.slices.total, 3u);  // 150 of 10, 200 and 40 of 20; the last of 10 is still open
    EXPECT_EQ(keeper.slices.sum, 390u);
    EXPECT_EQ(keeper.gaps.total, 2u);  // 20's behind the other thread, and 10's
    EXPECT_EQ(keeper.gaps.sum, 30u + 5 + 200 + 30 + 40 + 70);
    EXPECT_EQ(keeper.own_ns, 450u);
    EXPECT_EQ(keeper.others_ns, 10u + 30);
}

TEST(slices, a_running_slice_is_counted_up_to_the_read) {
    slice_keeper keeper;
    keeper.set_members({10}, 99);
    keeper.note(10, true, 1000);
    keeper.settle(1400);
    EXPECT_EQ(keeper.own_ns, 400u);
    keeper.clear();
    keeper.settle(1300);  // a moment before the last record adds nothing
    keeper.note(10, false, 1500);
    EXPECT_EQ(keeper.own_ns, 100u);
    keeper.note(7, true, 1500);
    keeper.note(7, false, 1600);
    keeper.note(10, true, 1600);
    EXPECT_EQ(keeper.slices.sum, 500u);
}

TEST(slices, a_member_that_left_holds_the_cpu_no_longer) {
    slice_keeper keeper;
    keeper.set_members({10}, 99);
    keeper.note(10, true, 100);
    keeper.set_members({20}, 99);
    keeper.note(10, false, 200);
    keeper.note(20, true, 300);
    keeper.note(20, false, 400);
    EXPECT_EQ(keeper.slices.total, 0u);
    EXPECT_EQ(keeper.own_ns, 100u);
    EXPECT_EQ(keeper.others_ns, 100u);
}

TEST(samples, without_a_reader_the_newest_are_lost) {
    auto numbers = std::make_unique<samples>();
    constexpr uint32_t pushed = 20'000;
    for (uint32_t i = 0; i < pushed; i++) numbers->push(i);
    uint32_t seen = 0;
    numbers->drain([&](uint32_t value) { EXPECT_EQ(value, seen++); });
    EXPECT_GT(seen, 0u);
    EXPECT_LT(seen, pushed);
}

TEST(tenant_plan, the_last_phase_has_no_end_and_a_rate_of_0_terminates) {
    const auto document = parse_json(
        R"([{"rate": 1000, "for_ns": 1000000000, "arrivals": "constant"}, {"rate": 0, "for_ns": null, "arrivals": "poisson"}])");
    const arrival_phases phases = read_phases(json_value(document, "phases"));
    arrival_cursor c = arrival_cursor_at_start(phases, 1, 1);
    c.start = 0;
    EXPECT_EQ(arrival_pass_due(c, 60'000'000'000), 1000u);
}

}  // namespace
}  // namespace wt
