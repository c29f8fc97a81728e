// How the queues of a port find those of the peer: through rdma_cm, whose requests say who asks. No
// connection beside the traffic.
//
// A connection (RC) is asked for by the client. On datagrams (UD) a request to connect tells the one who asks
// the other's queue pair and the way to it, and nothing to the one who is asked: both sides listen, and both
// ask.
#include <algorithm>
#include <cstring>

#include "core/refusal.h"
#include "parts/rdma/address.h"
#include "parts/rdma/verbs/verbs_port.h"

namespace wt {

namespace {

constexpr int resolve_ms = 2000;

// How often a device sends again what was not acknowledged, of 0 to 7: then the peer is lost. A peer whose
// process is killed is told of by rdma_cm at once.
constexpr uint8_t retries = 7;

// How often it asks again a peer that had no receive posted; 7 is for ever. A server may be held for longer
// than any number of times (its worker has no CPU, or runs that alternate park it), and its queue is dry
// meanwhile: the messages wait, as they do with every reliable transport, and the run goes on.
constexpr uint8_t retries_of_dry = 7;

// After how long it asks again: the code for 40 us. rdma_cm leaves the code 0, which is 655 ms.
constexpr uint8_t pause_of_dry = 4;

verbs_words words_of(const void *data, size_t bytes) {
    verbs_words said;
    if (data != nullptr) std::memcpy(&said, data, std::min(bytes, sizeof said));
    return said;
}

std::string introduction_in(const verbs_words &said) {
    return {said.introduction, strnlen(said.introduction, sizeof said.introduction)};
}

verbs_words words_that_begin(const std::string &introduction) {
    verbs_words words;
    std::memcpy(words.introduction, introduction.data(),
                std::min(introduction.size(), sizeof words.introduction));
    return words;
}

void refuse(rdma_cm_id *id, const std::string &introduction) {
    const verbs_words words = words_that_begin(introduction);
    rdma_reject(id, &words, sizeof words);
}

}  // namespace

verbs_words verbs_port::own_words(const verbs_queue &q) const {
    verbs_words words = words_that_begin(introduction_);
    if (!connects()) words.pair = rte_cpu_to_be_32(q.channel.pair->qp_num);
    if (is_one_sided() && plan_.side == side::server) {
        words.region = rte_cpu_to_be_64(reinterpret_cast<uintptr_t>(bytes_.first()));
        words.region_key = rte_cpu_to_be_32(bytes_known_->rkey);
    }
    return words;
}

rdma_conn_param verbs_port::described(const verbs_queue &q, const verbs_words &words, size_t bytes) const {
    rdma_conn_param made{};
    made.private_data = &words;
    made.private_data_len = static_cast<uint8_t>(bytes);
    made.responder_resources = RDMA_MAX_RESP_RES;  // as many READs at once as both devices can
    made.initiator_depth = RDMA_MAX_INIT_DEPTH;
    made.retry_count = retries;
    made.rnr_retry_count = retries_of_dry;
    if (!connects()) made.qp_num = q.channel.pair->qp_num;
    return made;
}

void verbs_port::listen(verbs_queue &q) {
    device_.check(rdma_listen(q.listening.get(), 1) == 0, "listening at " + dotted(plan_.ip.v4) + ", port " +
                                                              std::to_string(plan_.udp_port + q.index));
}

// One attempt. One that fails is told as an event, and the next step tries again. A client has any port,
// because its own may still be taken by a connection that has just ended.
void verbs_port::dial(verbs_queue &q) {
    q.id = device_.bind(0, &q);
    q.state = verbs_state::connecting;
    sockaddr_in to = socket_address(plan_.peer_ip->v4, static_cast<uint16_t>(*plan_.peer_udp_port + q.index));
    if (rdma_resolve_addr(q.id.get(), nullptr, reinterpret_cast<sockaddr *>(&to), resolve_ms) != 0)
        give_up(q);
}

// The way to the peer is known.
void verbs_port::request(verbs_queue &q) {
    if (connects()) open_pair(q, q.id.get());
    const verbs_words words = own_words(q);
    rdma_conn_param asked = described(q, words, connects() ? sizeof words.introduction : sizeof words);
    if (rdma_connect(q.id.get(), &asked) != 0) give_up(q);
}

// A request of the other side. A queue has one peer, of this release and file.
void verbs_port::take_request(verbs_queue &q, verbs_handle<rdma_cm_id> id, const verbs_words &said) {
    const bool busy = connects() ? q.state != verbs_state::idle
                                 : q.peer_pair != 0 && q.peer_pair != rte_be_to_cpu_32(said.pair);
    if (busy) return refuse(id.get(), busy_introduction);
    if (!objection_to(other_side(plan_.side), introduction_in(said), expected_).empty())
        return refuse(id.get(), shown_introduction(introduction_));
    if (connects()) return accept_connection(q, std::move(id));
    const verbs_words words = own_words(q);
    rdma_conn_param with = described(q, words, sizeof words);
    rdma_accept(id.get(), &with);  // one that is lost is asked for again
}

void verbs_port::accept_connection(verbs_queue &q, verbs_handle<rdma_cm_id> id) {
    q.id = std::move(id);
    open_pair(q, q.id.get());
    const verbs_words words = own_words(q);
    rdma_conn_param with = described(q, words, sizeof words);
    q.state = verbs_state::connecting;
    if (rdma_accept(q.id.get(), &with) != 0) give_up(q);
}

// The peer is found. A client hears who it is; a connection's server has heard it before.
void verbs_port::establish(verbs_queue &q, const verbs_event &e) {
    if (!connects() || plan_.side == side::client) {
        const std::string objection =
            objection_to(other_side(plan_.side), introduction_in(e.said), expected_);
        if (!objection.empty()) {
            if (plan_.side == side::client) refused_ = objection;
            return give_up(q);
        }
    }
    if (!connects()) return learn_peer(q, e) ? void() : give_up(q);
    learn_region(q, e.said);
    ibv_qp_attr pause{};
    pause.min_rnr_timer = pause_of_dry;
    ibv_modify_qp(q.channel.pair, &pause, IBV_QP_MIN_RNR_TIMER);  // one that cannot be told waits longer
    q.state = verbs_state::up;
}

bool verbs_port::learn_peer(verbs_queue &q, const verbs_event &e) {
    ibv_ah_attr way = e.route.ah_attr;
    q.route.reset(ibv_create_ah(device_.domain(), &way));
    if (!q.route) return false;
    q.peer_pair = e.route.qp_num;
    for (ibv_send_wr &request : q.channel.tx.chain.requests)
        request.wr.ud = {q.route.get(), e.route.qp_num, e.route.qkey};
    q.id.reset();
    q.state = verbs_state::up;
    return true;
}

void verbs_port::learn_region(const verbs_queue &q, const verbs_words &said) {
    if (one_sided_.empty()) return;  // a server, or messages alone
    one_sided_[q.index].remote = rte_be_to_cpu_64(said.region);
    one_sided_[q.index].remote_key = rte_be_to_cpu_32(said.region_key);
}

// An attempt has failed, most often because nobody listens yet. The next step makes another one.
void verbs_port::give_up(verbs_queue &q) {
    if (connects()) q.close_pair();
    q.id.reset();
    q.state = verbs_state::idle;
}

// Before the link of the whole port was up, a queue whose peer has gone waits for the next one. After that
// workers have its queue pair: what is posted there ends with an error.
void verbs_port::lose(verbs_queue &q) {
    if (!linked_) return give_up(q);
    if (q.id) rdma_disconnect(q.id.get());
    q.state = verbs_state::down;
}

void verbs_port::follow(const verbs_event &e) {
    if (e.id->context == nullptr) return;
    verbs_queue &q = *static_cast<verbs_queue *>(e.id->context);
    switch (e.type) {
        case RDMA_CM_EVENT_CONNECT_REQUEST: return take_request(q, verbs_handle<rdma_cm_id>(e.id), e.said);
        case RDMA_CM_EVENT_ADDR_RESOLVED:
            if (rdma_resolve_route(e.id, resolve_ms) != 0) give_up(q);
            return;
        case RDMA_CM_EVENT_ROUTE_RESOLVED: return request(q);
        case RDMA_CM_EVENT_ESTABLISHED: return establish(q, e);
        case RDMA_CM_EVENT_REJECTED:
        case RDMA_CM_EVENT_UNREACHABLE:
            // nobody who listens says nothing
            if (plan_.side == side::client && e.said.introduction[0] != 0)
                refused_ = objection_to(side::server, introduction_in(e.said), expected_);
            return give_up(q);
        case RDMA_CM_EVENT_ADDR_ERROR:
        case RDMA_CM_EVENT_ROUTE_ERROR:
        case RDMA_CM_EVENT_CONNECT_ERROR: return give_up(q);
        case RDMA_CM_EVENT_DISCONNECTED:
        case RDMA_CM_EVENT_DEVICE_REMOVAL: return lose(q);
        default: return;
    }
}

// An event is acknowledged before it is followed: what follows may close its id.
void verbs_port::read_events() {
    for (rdma_cm_event *event = nullptr; rdma_get_cm_event(device_.events(), &event) == 0;) {
        verbs_event e = {event->event, event->id, {}, {}};
        if (connects()) {
            e.said = words_of(event->param.conn.private_data, event->param.conn.private_data_len);
        } else {
            e.said = words_of(event->param.ud.private_data, event->param.ud.private_data_len);
            e.route = event->param.ud;
        }
        rdma_ack_cm_event(event);
        follow(e);
    }
}

void verbs_port::connect() {
    read_events();
    if (!refused_.empty())
        throw refusal("rdma wire: " + refused_,
                      "run the same file with the same --set and one release of Windtunnel on both sides, "
                      "one client at a time");
    for (verbs_queue &q : queues_)
        if (q.state == verbs_state::idle && (!connects() || plan_.side == side::client)) dial(q);
    read_events();
}

link_state verbs_port::link() {
    read_events();
    const auto is_up = [](const verbs_queue &q) {
        return q.state == verbs_state::up && !q.channel.broken.load(std::memory_order_relaxed);
    };
    const bool up = std::ranges::all_of(queues_, is_up);
    linked_ |= up;
    return up ? link_state::up : link_state::down;
}

}  // namespace wt
