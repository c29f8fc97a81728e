// Holds: the time of the run (core/clock.h) stands still and its workers sleep, while its supervisor reads a
// window, or another run has the cores.
//
// Two runs on the same cores, by turns: each runs a window, is held, and hands the turn to the other.
// The turn is a byte that is passed through two pipes. What the host does for seconds at a time then
// affects both runs equally, which is what `windtunnel compare` needs.
#pragma once

#include <cstdint>

namespace wt {

struct run_state;
struct run_signals;

// Wakes all that wait for the end of a hold: workers and other threads.
void release(run_signals &signals);

// The pipes of a run that alternates with another run. -1: it runs alone.
struct turn_descriptors {
    int in = -1, out = -1;
};

class turns {
  public:
    // Without descriptors the run has all turns.
    turns(run_state &f, const turn_descriptors &d) : f_(f), in_(d.in), out_(d.out) {}
    ~turns() { leave(); }
    turns(const turns &) = delete;
    turns &operator=(const turns &) = delete;

    // Asks every worker to park.
    void park();
    // With every worker parked: signals the other threads, and run time stands still until `go_on`.
    void hold();
    // Passes the turn on, once.
    void hand_on();
    // Waits until the turn comes, the other run is gone, or `control` has something to read. Returns
    // whether the run may go on.
    bool await(int control);
    // Ends the hold, if there is one. What happened meanwhile is in no window.
    void go_on();
    // From here on the other run has all turns.
    void leave();

    bool taken() const { return in_ >= 0; }
    bool held() const { return held_at_ != 0; }

  private:
    run_state &f_;
    int in_, out_;
    uint64_t held_at_ = 0;  // TSC; 0: not held
    bool mine_ = false;
};

}  // namespace wt
