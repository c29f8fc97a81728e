#include <algorithm>

#include "core/refusal.h"
#include "parts/rdma/address.h"
#include "parts/rdma/fabric/fabric_port.h"
#include "parts/rdma/fabric/trial.h"

namespace wt {

fabric_port::fabric_port(const rdma_setup &setup, port &made)
    : address_(setup),
      plan_(setup.end.plan),
      pool_(setup.end.pool),
      type_(setup.type),
      provider_(setup.provider),
      introduction_(setup.introduction),
      expected_(setup.expected),
      inline_bytes_(setup.inline_bytes),
      operation_(setup.operation),
      region_(setup.region) {
    for (uint16_t q = 0; q < plan_.port.queues; q++) {
        queues_.emplace_back().index = q;
        queues_.back().offer = fabric_offer(setup, q);
    }
    check_claims(setup, made);
    try_out(setup, made);
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
        return libfabric().fabric(first->fabric_attr, f, nullptr);
    });
    events_ = open_events(provider_, fabric_.get());
    domain_ = make_fabric<fid_domain>(provider_, "opening the domain", [&](fid_domain **d) {
        return fi_domain(fabric_.get(), first, d, nullptr);
    });
    register_pool();
}

uint32_t fabric_port::largest_message() const { return plan_.mtu - ip_udp_header_bytes; }

void fabric_port::refuse_size(const std::string &why, uint32_t most) const {
    throw refusal("rdma wire: an MTU of " + std::to_string(plan_.mtu) + " makes messages of " +
                      std::to_string(largest_message()) + " bytes, and " + provider_ + why,
                  std::string(side_names[static_cast<int>(plan_.side)]) +
                      ".mtu = " + std::to_string(most + ip_udp_header_bytes) + ", or less");
}

void fabric_port::check_claims(const rdma_setup &setup, port &made) const {
    const fi_info &offer = *queues_[0].offer;
    if (const size_t most = offer.ep_attr->max_msg_size; largest_message() > most)
        refuse_size(" carries " + std::to_string(most), static_cast<uint32_t>(most));
    if (inline_bytes_ > offer.tx_attr->inject_size)
        made.notes.push_back(provider_ + " copies at most " + std::to_string(offer.tx_attr->inject_size) +
                             " bytes at the post, where " + std::to_string(inline_bytes_) +
                             " were asked for");
    if (type_ != rdma_type::rc && setup.signal_every > 1)
        made.notes.push_back("every send is signalled: signal_every is for rc, which completes in order");
}

// A message larger than the provider carries may be taken and never arrive.
void fabric_port::try_out(const rdma_setup &setup, port &made) {
    const bool selective = type_ == rdma_type::rc && !is_one_sided() && setup.signal_every > 1;
    const std::optional<fabric_ability> found = try_provider(setup, {.largest = largest_message(),
                                                                     .receives = plan_.port.rx_descriptors,
                                                                     .sends = plan_.port.tx_descriptors,
                                                                     .selective = selective});
    if (selective && (!found || found->selective)) signal_every_ = setup.signal_every;
    if (!found) {
        made.notes.push_back(provider_ +
                             " sends nothing to this end's own address: what it claims was not tried");
        return;
    }
    if (found->largest < largest_message())
        refuse_size(" loses those of more than " + std::to_string(found->largest), found->largest);
    if (selective && !found->selective)
        made.notes.push_back(provider_ +
                             " reports each send, whatever it is asked for: every send is signalled");
    most_receives_ = found->receives;
    most_sends_ = found->sends;
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
    c.rx.posted.resize(depth(asked.rx_descriptors, offer->rx_attr->size, most_receives_));
    c.tx.posted.resize(depth(asked.tx_descriptors, offer->tx_attr->size, most_sends_));
    c.rx.pool = pool_;
    c.rx.bytes = rte_pktmbuf_data_room_size(pool_) - RTE_PKTMBUF_HEADROOM - frame_header_bytes;
    c.rx.takes_more = true;
    c.tx.inline_bytes = std::min<uint32_t>(inline_bytes_, static_cast<uint32_t>(offer->tx_attr->inject_size));
    c.tx.signal_every = signal_every_;
    c.tx.unsignalled = 0;
    c.tx.refused = false;
    c.descriptor = memory_ ? fi_mr_desc(memory_.get()) : nullptr;

    c.receives = open_completions(provider_, domain_.get(), c.rx.posted.most);
    c.sends = open_completions(provider_, domain_.get(), c.tx.posted.most);
    c.endpoint = make_fabric<fid_ep>(provider_, "opening an endpoint", [&](fid_ep **e) {
        return unless_taken(q, fi_endpoint(domain_.get(), offer, e, nullptr));
    });
    const uint64_t selective = c.tx.signal_every > 1 ? FI_SELECTIVE_COMPLETION : 0;
    if (!connects()) q.addresses = open_addresses(provider_, domain_.get());
    const auto bind = [&](fid_t to, uint64_t flags) {
        check_fabric(provider_, fi_ep_bind(c.endpoint.get(), to, flags), "binding an endpoint's queues");
    };
    bind(connects() ? &events_->fid : &q.addresses->fid, 0);
    bind(&c.receives->fid, FI_RECV);
    bind(&c.sends->fid, FI_TRANSMIT | selective);
    fabric_address own = fabric_address_of(provider_, plan_.ip.v4, plan_.udp_port, q.index);
    check_fabric(provider_, name_endpoint(provider_, c.endpoint.get(), own), "naming an endpoint");
    check_fabric(provider_, unless_taken(q, fi_enable(c.endpoint.get())), "enabling an endpoint");
    try {
        check_memory(provider_, own);
    } catch (const refusal &) {
        (void)c.endpoint.release();  // libfabric would follow what another user has written there
        throw;
    }
    fabric_post_receives(c);
}

// A provider that claims 0 claims nothing.
uint32_t fabric_port::depth(uint32_t asked, size_t claimed, uint32_t tried) {
    const size_t most = claimed ? std::min<size_t>(claimed, tried) : tried;
    return std::max(1U, static_cast<uint32_t>(std::min<size_t>(asked, most)));
}

void fabric_port::note_depths(port &made) const {
    const fi_info &offer = *queues_[0].offer;
    const auto note = [&](const char *what, uint32_t asked, size_t claimed, uint32_t tried) {
        const uint32_t given = depth(asked, claimed, tried);
        if (given < asked)
            made.notes.push_back("asked " + std::to_string(asked) + " " + what + " descriptors, " +
                                 provider_ + " gives " + std::to_string(given));
    };
    note("rx", plan_.port.rx_descriptors, offer.rx_attr->size, most_receives_);
    note("tx", plan_.port.tx_descriptors, offer.tx_attr->size, most_sends_);
}

// The error, unless it says that another program is where this queue is to be.
int64_t fabric_port::unless_taken(const fabric_queue_pair &q, int64_t error) const {
    if (error != -FI_EADDRINUSE) return error;
    throw refusal(
        "rdma wire: another program has the address " + dotted(plan_.ip.v4) + ", port " +
            std::to_string(plan_.udp_port + q.index),
        "stop it, or choose another " + std::string(side_names[static_cast<int>(plan_.side)]) + ".port");
}

port open_fabric(const rdma_setup &setup) {
    port made{};
    made.queue = &fabric_queue;
    made.keeps = std::make_shared<fabric_port>(setup, made);
    made.driver = "libfabric " + setup.provider;
    return made;
}

}  // namespace wt
