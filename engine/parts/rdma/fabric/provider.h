// What libfabric's providers offer for an end, and where its queues and their peers are.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "parts/rdma/fabric/handles.h"
#include "parts/rdma/rdma.h"

namespace wt {

// A queue's address as its provider writes it.
struct fabric_address {
    std::vector<uint8_t> bytes;
};

// Of queue `queue` of an end whose queue 0 is at `ip` and `first_port`.
fabric_address fabric_address_of(const std::string &provider, uint32_t ip, uint16_t first_port,
                                 uint16_t queue);

// That an end's address is one of this host's and nobody else's. Sockets exclude a second end by themselves;
// names in shared memory do not, so that Unix sockets of the same names do, one a queue, for as long as this
// lives. Throws refusal.
class claimed_address {
  public:
    explicit claimed_address(const rdma_setup &setup);

  private:
    struct descriptor {
        int number;
        explicit descriptor(int n) : number(n) {}
        ~descriptor();
        descriptor(const descriptor &) = delete;
        descriptor &operator=(const descriptor &) = delete;
    };
    void claim_names(const endpoint_plan &e);
    static void find_address(const endpoint_plan &e);

    std::deque<descriptor> held_;
};

// An address of this end's host that nothing else has: any port, or a name of its own.
fabric_address spare_address(const rdma_setup &setup);

// What the provider offers at an address. Throws refusal.
fabric_handle<fi_info> fabric_offer_at(const rdma_setup &setup, const fabric_address &at);

// What it offers for a queue of this end. A connected client has any port,
// because its own may still be taken by a connection that has just ended. Throws refusal.
fabric_handle<fi_info> fabric_offer(const rdma_setup &setup, uint16_t queue);

// Throws refusal unless the memory that an enabled endpoint of a provider by name has is what stands at its
// name, and this user's alone. Everybody may make some (/dev/shm), and take it away again; libfabric 1.17
// takes what it meets, with the addresses in it, for its own.
void check_memory(const std::string &provider, const fabric_address &own);

// Whether an unconnected peer can be named to the provider. One by name must have its memory first, and all
// of it: shm of libfabric 1.17 maps a peer once, when it is named, and crashes in a poll when one greets
// whose memory was not there or not complete (smr_progress_connreq). Throws refusal if that memory is not
// this user's alone: libfabric takes the addresses in it for the peer's. It stays so, since /dev/shm is
// sticky.
bool can_be_named(const std::string &provider, const fabric_address &peer);

// Gives an endpoint this address, where the provider would make up a name of its own. Before it is enabled.
// Throws refusal as can_be_named.
int name_endpoint(const std::string &provider, fid_ep *endpoint, fabric_address &address);

}  // namespace wt
