// A port over libfabric: every provider that the library brings, software ones among them, so that it runs
// everywhere. A call posts one operation, so bursts count no doorbells.
//
// One domain, in which the pool is registered once; a queue is an endpoint of its own, at the side's IP
// address and its UDP port + the queue. All of it runs on the main thread; the workers have the channels.
#pragma once

#include <rdma/fi_eq.h>

#include <deque>

#include "parts/rdma/fabric/channel.h"
#include "parts/rdma/fabric/one_sided.h"
#include "parts/rdma/fabric/provider.h"

namespace wt {

enum class queue_state : uint8_t { idle, connecting, up, down };

// A queue, and on a connected server where it listens.
struct fabric_queue_pair {
    uint16_t index;
    fabric_handle<fi_info> offer;
    fabric_handle<fid_pep> listening;
    fabric_handle<fid_av> addresses;  // unconnected types: the peer's
    fabric_channel channel;
    queue_state state = queue_state::idle;
};

class fabric_port final : public rdma_port {
  public:
    fabric_port(const rdma_setup &setup, port &made);
    ~fabric_port() override;
    fabric_port(const fabric_port &) = delete;
    fabric_port &operator=(const fabric_port &) = delete;

    void connect() override;
    link_state link() override;
    std::string words() const override;
    uint64_t missed() const override;
    uint64_t failed() const override;
    named_counts statistics() const override;
    uint32_t drain(rdma_port &sender) override;

  private:
    bool connects() const { return type_ == rdma_type::rc; }

    // open.cc
    void open_objects();
    void register_pool();
    uint32_t largest_message() const;
    void check_claims(const rdma_setup &setup, port &made) const;
    void try_out(const rdma_setup &setup, port &made);
    void refuse_size(const std::string &why, uint32_t most) const;
    static uint32_t depth(uint32_t asked, size_t claimed, uint32_t tried);
    void note_depths(port &made) const;
    int64_t unless_taken(const fabric_queue_pair &q, int64_t error) const;
    void open_queue(fabric_queue_pair &q, fi_info *offer);

    // region.cc
    bool is_one_sided() const { return operation_ != rdma_operation::send; }
    void open_region(port &made);
    void open_servers_region(port &made);
    void open_pieces(port &made);
    void add_region(named_counts &all) const;

    // connect.cc
    void listen(fabric_queue_pair &q);
    void dial(fabric_queue_pair &q);
    void accept(const fi_eq_cm_entry &entry, const std::string &said);
    void establish(fabric_queue_pair &q, const std::string &said);
    void find_peer(fabric_queue_pair &q);
    void read_events();
    void take_failed_event();
    void follow(uint32_t event, const fi_eq_cm_entry &entry, const std::string &said);
    void lose(fabric_queue_pair &q) const;
    fabric_queue_pair *queue_of(fid_t object);

    const claimed_address address_;
    const endpoint_plan &plan_;  // which is the run's, as the pool is
    rte_mempool *const pool_;
    const rdma_type type_;
    const std::string provider_;
    const std::string introduction_, expected_;
    std::string refused_;  // by the server, or why it is, in words
    bool linked_ = false;  // all queues were up at a time
    const uint32_t inline_bytes_;
    uint32_t signal_every_ = 1;
    uint32_t most_receives_ = UINT32_MAX, most_sends_ = UINT32_MAX;  // of a queue, as a trial has shown
    const rdma_operation operation_;
    const region_shape region_;
    rdma_memory bytes_;  // the region on a server; on a client what it reads into or writes from
    // closed in the opposite order
    fabric_handle<fid_fabric> fabric_;
    fabric_handle<fid_eq> events_;
    fabric_handle<fid_domain> domain_;
    fabric_handle<fid_mr> memory_;  // the pool
    fabric_handle<fid_mr> bytes_known_;
    std::deque<fabric_queue_pair> queues_;
    std::deque<one_sided_channel> one_sided_;
};

}  // namespace wt
