// What is asked of an open port.
#include "parts/rdma/verbs/verbs_port.h"

#include <cstring>

#include "parts/rdma/quiet.h"

namespace wt {

namespace {

const char *status_in_words(int status) { return ibv_wc_status_str(static_cast<ibv_wc_status>(status)); }

const char *error_in_words(int error) { return std::strerror(error); }

}  // namespace

std::string verbs_port::words() const {
    return (connects() ? "connected over " : "datagrams over ") + device_.name();
}

uint64_t verbs_port::missed() const {
    uint64_t sum = 0;
    for (const verbs_queue &q : queues_) sum += q.channel.rx.errors.total();
    return sum;
}

uint64_t verbs_port::failed() const {
    uint64_t sum = 0;
    for (const verbs_queue &q : queues_) sum += q.channel.tx.errors.total();
    return sum;
}

named_counts verbs_port::statistics() const {
    uint64_t dry = 0, no_mbufs = 0, full = 0, refused = 0;
    rdma_errors receives, sends, not_received, not_sent;
    for (const verbs_queue &q : queues_) {
        dry += q.channel.rx.dry;
        no_mbufs += q.channel.rx.no_mbufs;
        refused += q.channel.rx.full;
        full += q.channel.tx.full;
        receives.add(q.channel.rx.errors);
        sends.add(q.channel.tx.errors);
        not_received.add(q.channel.rx.refused);
        not_sent.add(q.channel.tx.refused);
    }
    named_counts all;
    const auto add = [&](const char *name, uint64_t count) {
        if (count) all.emplace_back(name, count);
    };
    add("dry", dry);
    add("receives without mbufs", no_mbufs);
    add("receive queue full", refused);
    add("send queue full", full);
    if (is_one_sided()) add_region(all);
    receives.append_to(all, "receive failed", status_in_words);
    sends.append_to(all, "send failed", status_in_words);
    not_received.append_to(all, "receive not posted", error_in_words);
    not_sent.append_to(all, "send not posted", error_in_words);
    return all;
}

uint32_t verbs_port::drain(rdma_port &sender) {
    auto &from = static_cast<verbs_port &>(sender);
    return take_until_quiet(monotonic_ns, [&] {
        uint32_t arrived = 0;
        for (verbs_queue &q : from.queues_)
            if (q.channel.pair) verbs_reap(q.channel);
        for (verbs_queue &q : queues_)
            if (q.channel.pair) arrived += free_received(verbs_queue_ops, &q.channel);
        return arrived;
    });
}

}  // namespace wt
