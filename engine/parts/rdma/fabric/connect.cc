// How the queues of a port find those of the peer. No connection beside the traffic: the library's own
// requests to connect, or addresses.
#include <algorithm>
#include <cstdio>

#include "core/refusal.h"
#include "parts/rdma/address.h"
#include "parts/rdma/fabric/fabric_port.h"

namespace wt {

void fabric_port::listen(fabric_queue_pair &q) {
    q.listening = make_fabric<fid_pep>(provider_, "opening a passive endpoint", [&](fid_pep **made) {
        return unless_taken(q, fi_passive_ep(fabric_.get(), q.offer.get(), made, nullptr));
    });
    check_fabric(provider_, fi_pep_bind(q.listening.get(), &events_->fid, 0), "binding a passive endpoint");
    check_fabric(provider_, unless_taken(q, fi_listen(q.listening.get())),
                 "listening at " + dotted(plan_.ip.v4));
}

// A connected client: one attempt. One that fails is told as an event, and the next step tries again.
void fabric_port::dial(fabric_queue_pair &q) {
    open_queue(q, q.offer.get());
    const fabric_address to = fabric_address_of(provider_, plan_.peer_ip->v4, *plan_.peer_udp_port, q.index);
    const int error =
        fi_connect(q.channel.endpoint.get(), to.bytes.data(), introduction_.data(), introduction_.size());
    q.state = error == 0 ? queue_state::connecting : queue_state::idle;
}

// The server's half of a connection. A queue has one client, of this release and file.
void fabric_port::accept(const fi_eq_cm_entry &entry, const std::string &said) {
    const fabric_handle<fi_info> offer(entry.info);
    fabric_queue_pair *const q = queue_of(entry.fid);
    if (q == nullptr) return;
    const bool busy = q->state != queue_state::idle;
    const std::string why = objection_to(side::client, said, expected_);
    if (busy || !why.empty()) {
        const std::string reply = busy ? busy_introduction : shown_introduction(introduction_);
        std::fprintf(stderr, "rdma wire: refused a client: %s\n",  // into engine.log
                     busy ? "there is one already" : why.c_str());
        fi_reject(q->listening.get(), offer->handle, reply.data(), reply.size());
        return;
    }
    open_queue(*q, offer.get());
    const int error = fi_accept(q->channel.endpoint.get(), introduction_.data(), introduction_.size());
    if (error == 0) q->state = queue_state::connecting;
}

// Both ends are there. A server has heard who the client is; a client hears it of the server now.
void fabric_port::establish(fabric_queue_pair &q, const std::string &said) {
    if (plan_.side == side::client) refused_ = objection_to(side::server, said, expected_);
    q.state = refused_.empty() ? queue_state::up : queue_state::idle;
}

// Unconnected types. A peer over datagrams need not be there yet: what is sent to it before it is, is lost.
void fabric_port::find_peer(fabric_queue_pair &q) {
    const fabric_address peer =
        fabric_address_of(provider_, plan_.peer_ip->v4, *plan_.peer_udp_port, q.index);
    if (!can_be_named(provider_, peer)) return;
    if (fi_av_insert(q.addresses.get(), peer.bytes.data(), 1, &q.channel.peer, 0, nullptr) == 1)
        q.state = queue_state::up;
}

fabric_queue_pair *fabric_port::queue_of(fid_t object) {
    const auto is_its = [&](const fabric_queue_pair &q) {
        return (q.listening && object == &q.listening->fid) ||
               (q.channel.endpoint && object == &q.channel.endpoint->fid);
    };
    const auto found = std::ranges::find_if(queues_, is_its);
    return found == queues_.end() ? nullptr : &*found;
}

// Before the link of the whole port was up, a queue whose peer has gone waits for the next one.
void fabric_port::lose(fabric_queue_pair &q) const {
    q.state = linked_ ? queue_state::down : queue_state::idle;
}

void fabric_port::follow(uint32_t event, const fi_eq_cm_entry &entry, const std::string &said) {
    if (event == FI_CONNREQ) return accept(entry, said);
    fabric_queue_pair *const q = queue_of(entry.fid);
    if (q == nullptr) return;
    if (event == FI_CONNECTED) establish(*q, said);
    if (event == FI_SHUTDOWN) lose(*q);
}

// An attempt has failed, most often because nobody listens yet; or a connection has broken.
void fabric_port::take_failed_event() {
    char data[64];
    fi_eq_err_entry failed{};
    failed.err_data = data;
    failed.err_data_size = sizeof data;
    if (fi_eq_readerr(events_.get(), &failed, 0) <= 0) return;
    fabric_queue_pair *const q = queue_of(failed.fid);
    if (q == nullptr) return;
    if (q->state == queue_state::connecting && failed.err_data_size > 0)
        refused_ = objection_to(
            side::server, {static_cast<const char *>(failed.err_data), failed.err_data_size}, expected_);
    if (q->state != queue_state::down) lose(*q);
}

void fabric_port::read_events() {
    // a connection's event may have data of the other side behind it
    alignas(fi_eq_cm_entry) uint8_t entry[sizeof(fi_eq_cm_entry) + 256];
    uint32_t event = 0;
    for (ssize_t bytes; (bytes = fi_eq_read(events_.get(), &event, entry, sizeof entry, 0)) != -FI_EAGAIN;) {
        constexpr auto fixed = static_cast<ssize_t>(sizeof(fi_eq_cm_entry));
        if (bytes >= fixed)
            follow(event, *reinterpret_cast<const fi_eq_cm_entry *>(entry),
                   {reinterpret_cast<const char *>(entry) + fixed, static_cast<size_t>(bytes - fixed)});
        else if (bytes == -FI_EAVAIL)
            take_failed_event();
        else
            return;
    }
}

void fabric_port::connect() {
    for (fabric_queue_pair &q : queues_)  // no worker polls yet, without which no end of a connection is seen
        if (q.state == queue_state::up) fi_cq_read(q.channel.sends.get(), nullptr, 0);
    read_events();
    if (!refused_.empty())
        throw refusal("rdma wire: " + refused_,
                      "run the same file with the same --set and one release of Windtunnel on both sides, "
                      "one client at a time");
    for (fabric_queue_pair &q : queues_) {
        if (q.state != queue_state::idle) continue;
        if (!connects())
            find_peer(q);
        else if (plan_.side == side::client)
            dial(q);
    }
    read_events();
}

link_state fabric_port::link() {
    read_events();
    const auto all = [&](queue_state s) {
        return std::ranges::all_of(queues_, [s](const fabric_queue_pair &q) { return q.state == s; });
    };
    linked_ |= all(queue_state::up);
    return all(queue_state::up) ? link_state::up : link_state::down;
}

}  // namespace wt
