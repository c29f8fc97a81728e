#pragma once

namespace wt {

// Forks: this process goes on as the engine, in the child, and its parent stays as its guard. What the engine
// starts, and whatever that starts, is a descendant of the guard, in a session of its own and without its
// parent too. It ends with the engine, and the guard ends as the engine did.
//
// When the supervisor, which holds the other end of the control pipe, has been gone for some seconds, the
// guard ends the engine: a plug-in may spin, stop the process or ignore every request to end. -1: there is no
// pipe.
//
// Before any thread is started. Without a guard (no process more is allowed) the engine goes on.
void start_guard(int control_descriptor);

}  // namespace wt
