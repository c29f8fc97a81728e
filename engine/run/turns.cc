#include "run/turns.h"

#include <poll.h>
#include <rte_cycles.h>
#include <unistd.h>

#include "parts/registry.h"
#include "run/run.h"

namespace wt {

void turns::park() { f_.signals.held.store(hold_state::asleep, std::memory_order_release); }

void turns::hold() {
    held_at_ = rte_rdtsc();
    held_since.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_release);
}

void turns::hand_on() {
    if (!mine_) return;
    mine_ = false;
    const char turn = 't';
    [[maybe_unused]] const ssize_t nobody_may_be_left = write(out_, &turn, 1);
}

bool turns::await(int control) {
    if (!taken() || mine_) return true;
    pollfd p[] = {{in_, POLLIN, 0}, {control, POLLIN, 0}};
    if (poll(p, 2, -1) <= 0 || !p[0].revents) return false;
    char turn;
    mine_ = true;
    if (read(in_, &turn, 1) != 1) leave();
    return true;
}

void turns::go_on() {
    if (!held_at_) return;
    f_.steal = steal_ns(cpus_of(f_));  // a CPU's account ran on; those of the workers stood still, they slept
    call_parts(&part::end_hold, f_);
    f_.signals.held.store(hold_state::awake, std::memory_order_release);
    f_.signals.held.notify_all();
    for (const worker &w : f_.workers)
        while (w.parked.load(std::memory_order_acquire)) usleep(20);
    hold_clock(rte_rdtsc() - held_at_);
    held_at_ = 0;
    release(f_.signals);
}

void release(run_signals &signals) {
    signals.held.store(hold_state::running, std::memory_order_release);
    signals.held.notify_all();
    held_since.store(0, std::memory_order_release);
    held_since.notify_all();
}

void turns::leave() {
    if (in_ >= 0) close(in_);
    if (out_ >= 0) close(out_);
    in_ = out_ = -1;
}

}  // namespace wt
