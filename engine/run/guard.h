#pragma once

#include <sys/types.h>

namespace wt {

// A process that ends this one's whole group when the supervisor, which holds the other end of the control
// pipe, has been gone for some seconds: a plug-in may spin, stop the process or ignore every request to end.
// It ends with the engine. Without one (no process more is allowed) the run goes on.
class guard {
  public:
    explicit guard(int control_descriptor);
    ~guard();
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;

  private:
    pid_t pid_;
};

}  // namespace wt
