#include <algorithm>

#include "core/refusal.h"
#include "wires/rdma/fabric/fabric_port.h"

namespace wt {

fabric_port::fabric_port(const rdma_setup &setup, port &made)
    : address_(setup),
      plan_(setup.end.plan),
      pool_(setup.end.pool),
      type_(setup.type),
      provider_(setup.provider),
      introduction_(setup.introduction),
      inline_bytes_(setup.inline_bytes),
      signal_every_(type_ == rdma_type::rc && setup.operation == rdma_operation::send ? setup.signal_every
                                                                                      : 1),
      operation_(setup.operation),
      region_(setup.region) {
    for (uint16_t q = 0; q < plan_.port.queues; q++) {
        queues_.emplace_back().index = q;
        queues_.back().offer = fabric_offer(setup, q);
    }
    check_sizes(made);
    if (setup.signal_every > signal_every_ && !is_one_sided())
        made.notes.push_back(provider_ + " does not complete in order: every send is signalled");
    open_objects();
    for (fabric_queue_pair &q : queues_) {
        if (!connects())
            open_queue(q, q.offer.get());
        else if (plan_.side == side::server)
            listen(q);
        made.channels.push_back(&q.channel);
    }
    note_depths(made);
    if (is_one_sided()) open_region(made);
}

void fabric_port::open_objects() {
    fi_info *const first = queues_[0].offer.get();
    fabric_ = make_fabric<fid_fabric>(provider_, "opening the fabric", [&](fid_fabric **f) {
        return fi_fabric(first->fabric_attr, f, nullptr);
    });
    fi_eq_attr of_events{};
    of_events.wait_obj = FI_WAIT_NONE;
    events_ = make_fabric<fid_eq>(provider_, "opening the event queue", [&](fid_eq **e) {
        return fi_eq_open(fabric_.get(), &of_events, e, nullptr);
    });
    domain_ = make_fabric<fid_domain>(provider_, "opening the domain", [&](fid_domain **d) {
        return fi_domain(fabric_.get(), first, d, nullptr);
    });
    register_pool();
}

// A message larger than the provider claims to carry may be taken and never arrive.
void fabric_port::check_sizes(port &made) const {
    const fi_info &offer = *queues_[0].offer;
    const uint32_t largest = plan_.mtu - ip_udp_header_bytes;
    const size_t most = offer.ep_attr->max_msg_size;
    if (largest > most)
        throw refusal("rdma wire: an MTU of " + std::to_string(plan_.mtu) + " makes messages of " +
                          std::to_string(largest) + " bytes, and " + provider_ + " carries " +
                          std::to_string(most),
                      std::string(side_names[static_cast<int>(plan_.side)]) +
                          ".mtu = " + std::to_string(most + ip_udp_header_bytes) + ", or less");
    if (inline_bytes_ > offer.tx_attr->inject_size)
        made.notes.push_back(provider_ + " copies at most " + std::to_string(offer.tx_attr->inject_size) +
                             " bytes at the post, where " + std::to_string(inline_bytes_) +
                             " were asked for");
}

// The pool is one piece (WT_WIRE_DENSE_POOL).
void fabric_port::register_pool() {
    if (!(queues_[0].offer->domain_attr->mr_mode & FI_MR_LOCAL)) return;
    const rte_mempool_memhdr &all = *STAILQ_FIRST(&pool_->mem_list);
    memory_ = make_fabric<fid_mr>(
        provider_, "registering " + std::to_string(all.len) + " bytes of mbufs", [&](fid_mr **m) {
            return fi_mr_reg(domain_.get(), all.addr, all.len, FI_SEND | FI_RECV, 0, 0, 0, m, nullptr);
        });
}

void fabric_port::open_queue(fabric_queue_pair &q, fi_info *offer) {
    fabric_channel &c = q.channel;
    c.endpoint.reset();
    fabric_free(c);
    const port_plan &asked = plan_.port;
    const auto depth = [](uint32_t wanted, size_t of_provider) {
        return of_provider ? std::min<uint32_t>(wanted, static_cast<uint32_t>(of_provider)) : wanted;
    };
    c.rx.posted.resize(depth(asked.rx_descriptors, offer->rx_attr->size));
    c.tx.posted.resize(depth(asked.tx_descriptors, offer->tx_attr->size));
    c.rx.pool = pool_;
    c.rx.bytes = rte_pktmbuf_data_room_size(pool_) - RTE_PKTMBUF_HEADROOM - frame_header_bytes;
    c.rx.takes_more = true;
    c.tx.inline_bytes = std::min<uint32_t>(inline_bytes_, static_cast<uint32_t>(offer->tx_attr->inject_size));
    c.tx.signal_every = signal_every_;
    c.tx.unsignalled = 0;
    c.descriptor = memory_ ? fi_mr_desc(memory_.get()) : nullptr;

    const auto completions = [&](uint32_t places) {
        fi_cq_attr of_queue{};
        of_queue.size = places;
        of_queue.format = FI_CQ_FORMAT_MSG;
        of_queue.wait_obj = FI_WAIT_NONE;
        return make_fabric<fid_cq>(provider_, "opening a completion queue", [&](fid_cq **made) {
            return fi_cq_open(domain_.get(), &of_queue, made, nullptr);
        });
    };
    c.receives = completions(c.rx.posted.most);
    c.sends = completions(c.tx.posted.most);
    c.endpoint = make_fabric<fid_ep>(provider_, "opening an endpoint", [&](fid_ep **e) {
        return fi_endpoint(domain_.get(), offer, e, nullptr);
    });
    const uint64_t selective = c.tx.signal_every > 1 ? FI_SELECTIVE_COMPLETION : 0;
    if (!connects()) {
        fi_av_attr table{};
        table.type = FI_AV_TABLE;
        table.count = 1;
        q.addresses = make_fabric<fid_av>(provider_, "opening the address table", [&](fid_av **a) {
            return fi_av_open(domain_.get(), &table, a, nullptr);
        });
    }
    const auto bind = [&](fid_t to, uint64_t flags) {
        check_fabric(provider_, fi_ep_bind(c.endpoint.get(), to, flags), "binding an endpoint's queues");
    };
    bind(connects() ? &events_->fid : &q.addresses->fid, 0);
    bind(&c.receives->fid, FI_RECV);
    bind(&c.sends->fid, FI_TRANSMIT | selective);
    fabric_address own = fabric_address_of(provider_, plan_.ip, plan_.udp_port, q.index);
    check_fabric(provider_, name_endpoint(provider_, c.endpoint.get(), own), "naming an endpoint");
    check_fabric(provider_, fi_enable(c.endpoint.get()), "enabling an endpoint");
    fabric_post_receives(c);
}

void fabric_port::note_depths(port &made) const {
    const fi_info &offer = *queues_[0].offer;
    const auto note = [&](const char *what, uint32_t asked, size_t given) {
        if (given && given < asked)
            made.notes.push_back("asked " + std::to_string(asked) + " " + what + " descriptors, " +
                                 provider_ + " gives " + std::to_string(given));
    };
    note("rx", plan_.port.rx_descriptors, offer.rx_attr->size);
    note("tx", plan_.port.tx_descriptors, offer.tx_attr->size);
}

port open_fabric(const rdma_setup &setup) {
    port made{};
    made.queue = &fabric_queue;
    made.keeps = std::make_shared<fabric_port>(setup, made);
    made.driver = "libfabric " + setup.provider;
    return made;
}

}  // namespace wt
