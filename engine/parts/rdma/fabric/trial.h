// What a provider claims is not believed. Before a run two of its endpoints, both at this end's address, send
// each other what the run will send.
//
// That sends end in the order of their posts cannot be tried: the type says so (rc). Nor can the way to the
// other host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "parts/rdma/fabric/handles.h"
#include "parts/rdma/rdma.h"

namespace wt {

// What a run wants of its provider, or what a trial has found of that.
struct fabric_ability {
    uint32_t largest;   // bytes of a message that arrives whole
    uint32_t receives;  // posted at once
    uint32_t sends;     // under way at once
    bool selective;     // only the sends that ask for it report their completion
};

struct trial_end {
    fabric_handle<fid_av> addresses;  // unconnected types
    fabric_handle<fid_cq> receives, sends;
    fabric_handle<fid_ep> endpoint;  // closed first
    fi_addr_t peer = FI_ADDR_UNSPEC;
};

// Messages from one end to the other. Both are this thread's, so that nothing of it waits for anyone.
class trial {
  public:
    // `memory`: twice as many bytes as the largest message has, and known to the provider as `descriptor`.
    trial(trial_end &from, trial_end &to, std::span<uint8_t> memory, void *descriptor);

    // All of it; null: not even a small message arrives, so that nothing can be tried.
    std::optional<fabric_ability> find(const fabric_ability &wanted);

  private:
    uint32_t post_receives(uint32_t most);
    uint32_t post_sends(uint32_t most, bool selective);
    bool arrives(uint32_t bytes);
    uint32_t largest_up_to(uint32_t bytes);
    bool is_selective();
    ssize_t send(uint32_t bytes, uint64_t flags);
    void poll();
    template <typename Done>
    bool poll_until(Done done);

    trial_end &from_, &to_;
    uint8_t *const sent_, *const received_;
    const size_t room_;
    void *descriptor_;
    std::deque<fi_context2> contexts_;                 // a provider may want one for each operation
    uint64_t arrived_ = 0, asked_ = 0, reported_ = 0;  // messages; of completions of sends
    size_t last_bytes_ = 0;
};

// Tries the provider of an end; null: as above, or it does not connect to itself. Throws refusal where it
// cannot be opened.
std::optional<fabric_ability> try_provider(const rdma_setup &setup, const fabric_ability &wanted);

}  // namespace wt
