// The RDMA device that has an end's address: what it gives, which is tried at opening, and its refusals.
#pragma once

#include <string>

#include "parts/rdma/rdma.h"
#include "parts/rdma/verbs/handles.h"

namespace wt {

// What a queue pair of the device has.
struct pair_size {
    uint32_t receives, sends;  // at once
    uint32_t inline_bytes;     // that are copied by a post
};

// Completion queues of a queue pair, for so many receives and sends at once.
struct completion_queues {
    verbs_handle<ibv_cq> receives, sends;
};

class verbs_device {
  public:
    // Throws refusal where no device has the address, or its port is down.
    explicit verbs_device(const rdma_setup &setup);

    const std::string &name() const { return name_; }
    rdma_event_channel *events() const { return events_.get(); }
    ibv_pd *domain() const { return domain_.get(); }
    // Bytes of the largest message: of one packet where datagrams are asked for.
    uint64_t largest_message() const;

    // An id at the end's address and `port`; 0: any. Its events come with `context`. Throws refusal.
    verbs_handle<rdma_cm_id> bind(uint16_t port, void *context) const;
    // Registers memory and counts it as locked. Throws refusal, which names the limit where it is too low.
    verbs_handle<ibv_mr> add_memory(void *first, size_t bytes, int access, const std::string &what) const;
    completion_queues open_completions(const pair_size &size) const;
    // What the device gives of `asked`, by a queue pair that is opened and closed. Throws refusal.
    pair_size try_size(pair_size asked) const;
    // What describes a queue pair of this size. `given` of what was made: at most `size`.
    ibv_qp_init_attr described(const pair_size &size, const completion_queues &queues) const;
    static pair_size given(const pair_size &size, const ibv_qp_cap &made);

    // Throws refusal where `made` is false: "rdma wire: rxe0: opening a queue pair: ...".
    void check(bool made, const std::string &what) const;

  private:
    bool makes(const pair_size &asked, pair_size &got) const;
    void check_port() const;

    const endpoint_plan &plan_;
    const rdma_type type_;
    std::string name_;
    ibv_device_attr claims_ = {};
    ibv_port_attr port_ = {};
    // closed in the opposite order
    verbs_handle<rdma_event_channel> events_;
    verbs_handle<rdma_cm_id> home_;  // keeps the device open
    verbs_handle<ibv_pd> domain_;
};

}  // namespace wt
