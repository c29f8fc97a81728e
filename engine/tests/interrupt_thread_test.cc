// The wait for EAL's interrupt thread. Starts EAL on ordinary memory.
#include "host/interrupt_thread.h"

#include <gtest/gtest.h>
#include <rte_interrupts.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "test_tools.h"

namespace wt::test::interrupt_thread_test {
namespace {

const needs_eal eal(16);

struct slow_event {
    int fd = eventfd(0, EFD_NONBLOCK);
    std::atomic<int> handled = 0;

    static void handle(void *event) {
        slow_event &self = *static_cast<slow_event *>(event);
        eventfd_t count;
        if (eventfd_read(self.fd, &count) != 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        self.handled++;
    }
};

TEST(InterruptThread, HasHandledWhatCameBefore) {
    slow_event event;
    rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
    ASSERT_EQ(rte_intr_fd_set(handle, event.fd), 0);
    ASSERT_EQ(rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT), 0);
    ASSERT_EQ(rte_intr_callback_register(handle, slow_event::handle, &event), 0);
    for (int n = 1; n <= 3; n++) {
        ASSERT_EQ(eventfd_write(event.fd, 1), 0);
        await_interrupt_thread();
        EXPECT_EQ(event.handled, n);
    }
    EXPECT_EQ(rte_intr_callback_unregister(handle, slow_event::handle, &event), 1);
    await_interrupt_thread();
    rte_intr_instance_free(handle);
    close(event.fd);
}

}  // namespace
}  // namespace wt::test::interrupt_thread_test
