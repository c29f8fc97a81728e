// A port over libibverbs and librdmacm: chains of work requests, one doorbell a burst.
//
// One device, in which the pool is registered once; a queue is a queue pair of its own. It is connected by
// the side's IP address and its UDP port + the queue through rdma_cm, whose events are polled. All of it runs
// on the main thread; the workers have the channels.
#pragma once

#include <deque>

#include "parts/rdma/verbs/channel.h"
#include "parts/rdma/verbs/device.h"
#include "parts/rdma/verbs/one_sided.h"

namespace wt {

enum class verbs_state : uint8_t { idle, connecting, up, down };

// What an end says with a request to connect and with its response to one. A request of a connection has room
// for the introduction alone.
struct verbs_words {
    char introduction[longest_introduction] = {};
    rte_be32_t pair = 0;        // number of the queue pair, on datagrams
    rte_be32_t region_key = 0;  // of a server's region
    rte_be64_t region = 0;      // its address
};

// An event of rdma_cm that has been acknowledged.
struct verbs_event {
    rdma_cm_event_type type;
    rdma_cm_id *id;
    verbs_words said;
    rdma_ud_param route;  // datagrams: to the peer
};

struct verbs_queue {
    uint16_t index;
    // closed in the opposite order
    completion_queues completions;
    verbs_handle<rdma_cm_id> listening;  // of a server; on datagrams of both, and the queue pair is its
    verbs_handle<rdma_cm_id> id;         // a connection and its queue pair, or an attempt to find the peer
    verbs_handle<ibv_ah> route;          // datagrams: to the peer
    uint32_t peer_pair = 0;              // datagrams: the number of its queue pair; 0: not known yet
    verbs_channel channel;
    verbs_state state = verbs_state::idle;

    explicit verbs_queue(uint16_t i) : index(i) {}
    ~verbs_queue() { close_pair(); }
    verbs_queue(const verbs_queue &) = delete;
    verbs_queue &operator=(const verbs_queue &) = delete;
    // Closes the queue pair, if there is one, and gives back the mbufs that it had.
    void close_pair();
};

class verbs_port final : public rdma_port {
  public:
    verbs_port(const rdma_setup &setup, port &made);
    ~verbs_port() override;
    verbs_port(const verbs_port &) = delete;
    verbs_port &operator=(const verbs_port &) = delete;

    void connect() override;
    link_state link() override;
    std::string words() const override;
    uint64_t missed() const override;
    uint64_t failed() const override;
    named_counts statistics() const override;
    uint32_t drain(rdma_port &sender) override;

    const std::string &device() const { return device_.name(); }

  private:
    bool connects() const { return type_ == rdma_type::rc; }
    bool is_one_sided() const { return operation_ != rdma_operation::send; }

    // open.cc
    void check_sizes() const;
    void register_pool();
    void note_sizes(port &made, const pair_size &asked) const;
    void open_queue(verbs_queue &q);
    void open_pair(verbs_queue &q, rdma_cm_id *id);

    // region.cc
    void open_region(port &made);
    void open_servers_region(port &made);
    void open_pieces(port &made);
    void add_region(named_counts &all) const;

    // connect.cc
    void listen(verbs_queue &q);
    void dial(verbs_queue &q);
    void request(verbs_queue &q);
    void take_request(verbs_queue &q, verbs_handle<rdma_cm_id> id, const verbs_words &said);
    void accept_connection(verbs_queue &q, verbs_handle<rdma_cm_id> id);
    void establish(verbs_queue &q, const verbs_event &e);
    bool learn_peer(verbs_queue &q, const verbs_event &e);
    void learn_region(const verbs_queue &q, const verbs_words &said);
    void give_up(verbs_queue &q);
    void lose(verbs_queue &q);
    void read_events();
    void follow(const verbs_event &e);
    verbs_words own_words(const verbs_queue &q) const;
    rdma_conn_param described(const verbs_queue &q, const verbs_words &words, size_t bytes) const;

    const endpoint_plan &plan_;  // which is the run's, as the pool is
    rte_mempool *const pool_;
    const rdma_type type_;
    const std::string introduction_, expected_;
    std::string refused_;  // by the server, in words
    bool linked_ = false;  // all queues were up at a time
    const uint32_t signal_every_;
    const rdma_operation operation_;
    const region_shape region_;
    rdma_memory bytes_;  // the region on a server; on a client what it reads into or writes from
    // closed in the opposite order
    verbs_device device_;
    pair_size size_;
    verbs_handle<ibv_mr> memory_;  // the pool
    verbs_handle<ibv_mr> bytes_known_;
    std::deque<verbs_queue> queues_;
    std::deque<verbs_one_sided> one_sided_;
};

}  // namespace wt
