// EAL's interrupt thread, which calls what drivers have registered for a descriptor.
#pragma once

namespace wt {

// Returns when the interrupt thread has handled what came before: events of drivers' descriptors, and
// callbacks that were removed. It waits at most a second, because a driver's callback may hang. For the main
// thread alone.
void await_interrupt_thread();

}  // namespace wt
