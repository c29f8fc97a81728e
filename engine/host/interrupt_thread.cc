#include "host/interrupt_thread.h"

#include <rte_interrupts.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <semaphore>

namespace wt {

namespace {

// An event of our own. It stays registered until the process ends: to remove it would wake the thread again.
// An alarm would do so in rte_eal_cleanup().
struct own_event {
    int fd = -1;
    rte_intr_handle *handle = nullptr;
    bool registered = false;
    std::binary_semaphore handled{0};

    own_event() {
        fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
        registered = fd >= 0 && handle != nullptr && rte_intr_fd_set(handle, fd) == 0 &&
                     rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) == 0 &&
                     rte_intr_callback_register(handle, handle_event, this) == 0;
    }

    static void handle_event(void *event) {
        own_event &self = *static_cast<own_event *>(event);
        eventfd_t count;
        if (eventfd_read(self.fd, &count) == 0) self.handled.release();
    }
};

}  // namespace

void await_interrupt_thread() {
    static own_event &event = *new own_event;
    if (!event.registered || eventfd_write(event.fd, 1) != 0) return;
    static_cast<void>(event.handled.try_acquire_for(std::chrono::seconds(1)));
}

}  // namespace wt
