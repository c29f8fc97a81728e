#include <algorithm>

#include "core/frame.h"
#include "core/refusal.h"
#include "parts/rdma/verbs/verbs_port.h"

namespace wt {

namespace {

// The pool is one piece (WT_WIRE_DENSE_POOL).
const rte_mempool_memhdr &memory_of(const rte_mempool *pool) { return *STAILQ_FIRST(&pool->mem_list); }

}  // namespace

verbs_port::verbs_port(const rdma_setup &setup, port &made)
    : plan_(setup.end.plan),
      pool_(setup.end.pool),
      type_(setup.type),
      introduction_(setup.introduction),
      expected_(setup.expected),
      signal_every_(setup.signal_every),
      operation_(setup.operation),
      region_(setup.region),
      device_(setup) {
    check_sizes();
    const pair_size asked = {plan_.port.rx_descriptors, plan_.port.tx_descriptors, setup.inline_bytes};
    size_ = device_.try_size(asked);
    note_sizes(made, asked);
    register_pool();
    for (uint16_t q = 0; q < plan_.port.queues; q++) {
        open_queue(queues_.emplace_back(q));
        made.channels.push_back(&queues_.back().channel);
    }
    if (is_one_sided()) open_region(made);
}

verbs_port::~verbs_port() {
    for (verbs_queue &q : queues_) q.close_pair();
    for (verbs_one_sided &c : one_sided_) places_free(c.places);
}

void verbs_port::check_sizes() const {
    const uint32_t largest = plan_.mtu - ip_udp_header_bytes;
    const uint64_t most = device_.largest_message();
    if (largest > most) {
        const std::string side = side_names[static_cast<int>(plan_.side)];
        throw refusal("rdma wire: an MTU of " + std::to_string(plan_.mtu) + " makes messages of " +
                          std::to_string(largest) + " bytes, and " + device_.name() + " carries " +
                          std::to_string(most) + (connects() ? "" : " in a datagram"),
                      side + ".mtu = " + std::to_string(most + ip_udp_header_bytes) +
                          ", or less; or a larger MTU of the device's interface");
    }
    if (is_one_sided() && region_.piece > most)
        throw refusal("rdma wire: pieces of " + std::to_string(region_.piece) + " bytes, and " +
                          device_.name() + " carries " + std::to_string(most),
                      "use smaller pieces");
}

void verbs_port::note_sizes(port &made, const pair_size &asked) const {
    const auto note = [&](const std::string &what, uint32_t wanted, uint32_t given) {
        if (given < wanted)
            made.notes.push_back("asked " + std::to_string(wanted) + " " + what + ", " + device_.name() +
                                 " gives " + std::to_string(given));
    };
    note("rx descriptors", asked.receives, size_.receives);
    note("tx descriptors", asked.sends, size_.sends);
    note("inline bytes", asked.inline_bytes, size_.inline_bytes);
}

void verbs_port::register_pool() {
    const rte_mempool_memhdr &all = memory_of(pool_);
    memory_ = device_.add_memory(all.addr, all.len, IBV_ACCESS_LOCAL_WRITE, "mbufs");
}

// A connected client's queue pair is opened with each attempt. On datagrams it is there before the peer is:
// it belongs to what listens, so that an attempt which fails does not close it.
void verbs_port::open_queue(verbs_queue &q) {
    verbs_channel &c = q.channel;
    c.rx.pool = pool_;
    c.rx.ahead = connects() ? 0 : route_header_bytes;
    if (connects() && plan_.side == side::client) return;
    q.listening = device_.bind(static_cast<uint16_t>(plan_.udp_port + q.index), &q);
    if (!connects()) open_pair(q, q.listening.get());
    listen(q);
}

void verbs_port::open_pair(verbs_queue &q, rdma_cm_id *id) {
    q.completions = device_.open_completions(size_);
    device_.check(q.completions.receives && q.completions.sends, "opening completion queues");
    ibv_qp_init_attr of_pair = device_.described(size_, q.completions);
    device_.check(rdma_create_qp(id, device_.domain(), &of_pair) == 0, "opening a queue pair");
    const pair_size given = verbs_device::given(size_, of_pair.cap);
    verbs_channel &c = q.channel;
    c.pair = id->qp;
    c.receives = q.completions.receives.get();
    c.sends = q.completions.sends.get();
    c.tx.inline_bytes = given.inline_bytes;
    c.tx.signal_every = signal_every_;
    verbs_prepare(c, given.receives, given.sends, memory_->lkey);
    verbs_post_receives(c);
}

void verbs_queue::close_pair() {
    for (rdma_cm_id *const owner : {id.get(), listening.get()})
        if (owner != nullptr && owner->qp != nullptr) rdma_destroy_qp(owner);
    channel.pair = nullptr;
    completions = {};
    verbs_free(channel);
}

port open_verbs(const rdma_setup &setup) {
    port made{};
    made.queue = &verbs_queue_ops;
    const auto opened = std::make_shared<verbs_port>(setup, made);
    made.keeps = opened;
    made.driver = "libibverbs " + opened->device();
    made.has_doorbells = true;  // a burst is one chain, and a chain one post
    return made;
}

}  // namespace wt
