// What is asked of an open port, and its end.
#include "parts/rdma/fabric/fabric_port.h"

#include "parts/rdma/fabric/patience.h"
#include "parts/rdma/quiet.h"

namespace wt {

fabric_port::~fabric_port() {
    for (fabric_queue_pair &q : queues_) {
        q.channel.endpoint.reset();
        fabric_free(q.channel);
    }
    for (one_sided_channel &c : one_sided_) places_free(c.places);
}

std::string fabric_port::words() const {
    return type_ == rdma_type::rc ? "connected over " + provider_
                                  : "no connection: " + provider_ + " has none";
}

uint64_t fabric_port::missed() const {
    uint64_t sum = 0;
    for (const fabric_queue_pair &q : queues_) sum += q.channel.rx.errors.total();
    return sum;
}

uint64_t fabric_port::failed() const {
    uint64_t sum = 0;
    for (const fabric_queue_pair &q : queues_) sum += q.channel.tx.errors.total();
    return sum;
}

named_counts fabric_port::statistics() const {
    uint64_t dry = 0, no_mbufs = 0, full = 0, allocations = 0;
    rdma_errors receives, sends, refused;
    for (const fabric_queue_pair &q : queues_) {
        dry += q.channel.rx.dry;
        no_mbufs += q.channel.rx.no_mbufs;
        full += q.channel.tx.full;
        refused.add(q.channel.rx.refused);
        allocations += q.channel.rx.allocations + q.channel.tx.allocations;
        receives.add(q.channel.rx.errors);
        sends.add(q.channel.tx.errors);
    }
    named_counts all;
    const auto add = [&](const char *name, uint64_t count) {
        if (count) all.emplace_back(name, count);
    };
    add("dry", dry);
    add("receives without mbufs", no_mbufs);
    add("send queue full", full);
    add("heap allocations of the provider", allocations);
    if (is_one_sided()) add_region(all);
    receives.append_to(all, "receive failed", libfabric().strerror);
    refused.append_to(all, "receive not posted", libfabric().strerror);
    sends.append_to(all, "send failed", libfabric().strerror);
    return all;
}

uint32_t fabric_port::drain(rdma_port &sender) {
    auto &from = static_cast<fabric_port &>(sender);
    return take_until_quiet(monotonic_ns, [&] {
        uint32_t arrived = 0;
        for (fabric_queue_pair &q : from.queues_)
            if (q.channel.sends) fabric_reap(q.channel);  // lets the sender's half go on, too
        for (fabric_queue_pair &q : queues_)
            if (q.channel.receives) arrived += free_received(fabric_queue, &q.channel);
        return arrived;
    });
}

}  // namespace wt
