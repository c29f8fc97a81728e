// app_tx where the bodies of requests are copied from a source: it makes packets, has their bodies copied,
// and hands each on when its copy has ended, in their order. What no copier takes, the CPU copies.
#include <rte_memcpy.h>
#include <rte_pause.h>

#include "core/packet.h"
#include "stages/app_tx.h"
#include "stages/copying.h"
#include "stages/stages.h"

namespace wt {

namespace {

// The ticks of a step, in calls whose cycles are taken.
class step_timer {
  public:
    explicit step_timer(const client_copying &c) : steps_(c.steps.now), since_(steps_ ? wt_ticks() : 0) {}
    void end(copy_step step, uint64_t copies) {
        if (unlikely(steps_ != nullptr))
            since_ = wt_step_end(&steps_[static_cast<size_t>(step)], since_, copies);
    }

  private:
    wt_step *steps_;
    uint64_t since_;
};

void leave_to_cpu(client_copying &c, pending_copy &copy, copy_reason why, copy_stats &stats) {
    copy.runs = false;
    c.left.push_back({copy.to, copy.from, copy.bytes});
    stats.by_cpu[static_cast<size_t>(why)]++;
}

// Copies what was left to the CPU. No packet leaves before.
void copy_by_cpu(client_copying &c, step_timer &timer) {
    if (likely(c.left.empty())) return;
    for (const copy_piece &piece : c.left) rte_memcpy(piece.to, piece.from, piece.bytes);
    timer.end(copy_step::by_cpu, c.left.size());
    c.left.clear();
}

bool is_for_cpu(const client_copying &c, const pending_copy &copy) {
    return copy.bytes < c.at_least || c.gave_up;
}

// Takes the next copies for one submit, in c.pieces and c.which.
void gather(client_copying &c, uint64_t now, copy_stats &stats) {
    pending_packets &p = c.pending;
    const uint32_t most = std::min(c.batch, c.depth - p.running);
    c.pieces.clear();
    c.which.clear();
    for (; p.started != p.tail && c.pieces.size() < most; p.started++) {
        pending_copy &copy = p.copy(p.started);
        if (copy.bytes == 0) continue;
        stats.bytes += copy.bytes;
        if (unlikely(is_for_cpu(c, copy))) {
            leave_to_cpu(c, copy, c.gave_up ? copy_reason::gave_up : copy_reason::small, stats);
            continue;
        }
        copy.runs = true;
        copy.since = now;
        c.pieces.push_back({copy.to, copy.from, copy.bytes});
        c.which.push_back(p.started);
    }
}

// Starts copies until the copier has as many as it may have.
void start_copies(client_copying &c, uint64_t now, copy_stats &stats) {
    pending_packets &p = c.pending;
    while (p.started != p.tail && p.running < c.depth) {
        step_timer timer(c);
        gather(c, now, stats);
        const auto wanted = static_cast<uint32_t>(c.pieces.size());
        const uint32_t taken = wanted ? c.channel.submit(c.channel.state, c.pieces.data(), wanted) : 0;
        p.running += taken;
        c.submitted += taken;
        timer.end(copy_step::submit, taken);
        for (uint32_t i = taken; i < wanted; i++)
            leave_to_cpu(c, p.copy(c.which[i]), copy_reason::no_room, stats);
        copy_by_cpu(c, timer);
    }
}

void end_copy(client_copying &c, pending_copy &copy, copy_end how, uint64_t now, copy_stats &stats) {
    if (!c.channel.immediate) stats.completion.add(now - copy.since);
    if (unlikely(how == copy_end::failed)) return leave_to_cpu(c, copy, copy_reason::failed, stats);
    copy.runs = false;
    stats.copies++;
}

// Asks which copies have ended, a batch at most, and passes what needs none. Returns how many have ended.
uint32_t poll_copies(client_copying &c, uint64_t now, copy_stats &stats) {
    pending_packets &p = c.pending;
    step_timer timer(c);
    const uint32_t count =
        p.running ? c.channel.completed(c.channel.state, c.ends.data(), std::min(c.batch, p.running)) : 0;
    uint32_t taken = 0;
    for (; p.ended != p.started; p.ended++) {
        pending_copy &copy = p.copy(p.ended);
        if (!copy.runs) continue;
        if (taken == count) break;
        end_copy(c, copy, c.ends[taken++], now, stats);
    }
    p.running -= count;
    c.ended += count;
    timer.end(copy_step::poll, count);
    copy_by_cpu(c, timer);
    return count;
}

// Gives the copier up where its oldest copy takes too long.
void watch(client_copying &c, uint64_t now, copy_stats &stats) {
    if (c.pending.running > 0 && now - c.pending.copy(c.pending.ended).since > c.timeout)
        abandon_copies(c, stats);
}

// Hands on packets whose bodies are there. With wait_all none leaves before all are there that were made with
// it.
uint32_t release(application &a, uint32_t most) {
    client_copying &c = *a.copying;
    pending_packets &p = c.pending;
    if (c.way == copy_way::wait_all && !c.releasing) {
        if (p.ended != p.tail) return 0;
        c.releasing = p.count() > 0;
    }
    uint32_t moved = 0;
    while (moved < most) {
        rte_mbuf *const *first;
        uint16_t link;
        const uint32_t run = pending_run(p, most - moved, &first, &link);
        const uint32_t put = run ? a.links[link]->to_dispatcher->put(first, run) : 0;
        p.head += put;
        moved += put;
        if (put < run || run == 0) break;
    }
    if (p.count() == 0) c.releasing = false;
    return moved;
}

// Whether another burst of messages may be made: no further ahead than keeps the copier busy.
bool wants_packets(const application &a) {
    const client_copying &c = *a.copying;
    const pending_packets &p = c.pending;
    if (c.way == copy_way::wait_all) return p.count() == 0;
    return p.tail - p.started < c.batch && p.room() >= a.out.packets.size();
}

void nothing_to_free(void *, void *) {}

// zero: the packet's body is a part of the source, behind an mbuf of its own. What the mbuf counts of its
// buffer lies in the room that it does not use now.
void attach(rte_mbuf *m, rte_mbuf *body, const uint8_t *from, uint32_t bytes) {
    auto *shared = reinterpret_cast<rte_mbuf_ext_shared_info *>(body->buf_addr);
    shared->free_cb = nothing_to_free;
    shared->fcb_opaque = nullptr;
    rte_mbuf_ext_refcnt_set(shared, 1);
    auto *const at = const_cast<uint8_t *>(from);
    rte_pktmbuf_attach_extbuf(body, at, reinterpret_cast<rte_iova_t>(at), static_cast<uint16_t>(bytes),
                              shared);
    body->data_len = static_cast<uint16_t>(bytes);
    body->pkt_len = bytes;
    set_length(m, body_offset);
    m->pkt_len += bytes;
    m->nb_segs = 2;
    m->next = body;
}

// Makes sure that each packet of a burst can have an mbuf for its body.
bool stock_bodies(application &a) {
    client_copying &c = *a.copying;
    if (c.way != copy_way::zero || c.bodies_count == c.bodies.size()) return true;
    const auto missing = static_cast<uint32_t>(c.bodies.size()) - c.bodies_count;
    if (!mbufs_take(a.pool, c.bodies.data() + c.bodies_count, missing)) return false;
    c.bodies_count += missing;
    return true;
}

void write_packet(const application &a, rte_mbuf *m, const message_header &h, const uint8_t *from,
                  uint32_t body, uint16_t link, copy_stats &stats) {
    client_copying &c = *a.copying;
    uint8_t *const message = message_of(m);
    message_header_write(message, h);
    if (c.way == copy_way::zero && body > 0) {
        attach(m, c.bodies[--c.bodies_count], from, body);
        stats.uncopied++;
        stats.bytes += body;
        return pending_push(c.pending, m, {from, nullptr, 0, 0, link, false});
    }
    uint8_t *const to = message + message_header_bytes;
    set_length(m, body_offset + body);
    // a copy that does not happen shows in every byte
    for (uint32_t i = 0; c.verify && i < body; i++) to[i] = static_cast<uint8_t>(~from[i]);
    pending_push(c.pending, m, {from, to, 0, body, link, false});
}

// Makes the packets of new messages; returns how many. *lacks: there are messages to send, but no mbufs.
uint32_t make_packets(application &a, uint64_t now, bool *lacks, const stage_call &call) {
    client_sending &s = *a.sending;
    const client_copying &c = *a.copying;
    *lacks = !stock_bodies(a);
    if (*lacks) return 0;
    bool wanted;
    const uint32_t count = take_wanted(a, now, &wanted, call);
    *lacks = wanted && count == 0;
    if (count == 0) return 0;
    a.inflight->free.take(s.slots.data(), count);
    const uint16_t link = take_link(a);
    rte_mbuf **packet = a.out.packets.data();
    for (uint32_t i = 0; i < count; i++) {
        const segmentation &shape = s.sizes ? s.shapes[i] : a.request;
        const uint32_t slot = s.slots[i], generation = slot_arm(a.inflight->slots[slot], s.intended[i], now);
        const uint8_t *const from = c.source + source_position(c.layout, a.index, slot, generation);
        for (uint32_t j = 0; j < shape.segments; j++)
            write_packet(a, *packet++,
                         {message_kind::request, a.workload, a.index, slot, generation,
                          static_cast<uint16_t>(j), static_cast<uint16_t>(shape.segments)},
                         from + size_t{j} * shape.segment_body, segment_body_bytes(shape, j), link,
                         *call.stats->copies);
    }
    if (s.open_loop) record_pacing(s, count, now, call);
    call.stats->sent += count;
    return static_cast<uint32_t>(packet - a.out.packets.data());
}

// Copies and ends whatever an immediate copier has to do.
void copy_at_once(client_copying &c, uint64_t now, copy_stats &stats) {
    while (c.pending.ended != c.pending.tail) {
        start_copies(c, now, stats);
        poll_copies(c, now, stats);
    }
}

// For want of what a call did nothing.
stalled_for wanting(const client_copying &c, bool lacks_mbufs) {
    if (lacks_mbufs) return for_mbufs;
    if (c.pending.running > 0) return for_copies;
    return c.pending.count() > 0 ? for_ring : not_stalled;
}

// A call that only found copies that run is stall: its poll is no part of the copies' work.
void forget_steps(client_copying &c) {
    if (unlikely(c.steps.now != nullptr)) c.steps.taken.fill({});
}

}  // namespace

call_result app_tx_copying(void *role, const stage_call &call) {
    application &a = *static_cast<application *>(role);
    client_copying &c = *a.copying;
    copy_stats &stats = *call.stats->copies;
    const bool makes = wants_packets(a) && may_send(a);
    if (!makes && c.pending.count() == 0) return {0};
    const uint64_t now = stage_now(call);
    const uint32_t started = c.pending.started, ended = c.pending.ended;
    if (c.pending.ended != c.pending.started && poll_copies(c, now, stats) == 0) watch(c, now, stats);
    uint32_t moved = release(a, a.batch_tx), made = 0;
    bool lacks = false;
    if (makes) made = make_packets(a, now, &lacks, call);
    start_copies(c, now, stats);
    if (c.channel.immediate) copy_at_once(c, now, stats);
    if (moved < a.batch_tx) moved += release(a, a.batch_tx - moved);
    const bool worked = made > 0 || c.pending.started != started || c.pending.ended != ended;
    stats.unmoved_calls += worked && moved == 0;
    const stalled_for want = moved || worked ? not_stalled : wanting(c, lacks);
    if (want != not_stalled) forget_steps(c);
    return {moved, want, worked};
}

bool finish_copies(client_copying &c, copy_stats &stats, uint64_t patience) {
    const uint64_t start = rte_rdtsc();
    while (c.pending.running > 0) {
        if (poll_copies(c, now(), stats) == 0) rte_pause();
        if (c.pending.running > 0 && rte_rdtsc() - start > patience) return false;
    }
    return true;
}

void abandon_copies(client_copying &c, copy_stats &stats) {
    const size_t before = c.abandoned.size(), running = c.pending.running;
    c.abandoned.resize(before + running);  // within what is reserved
    pending_abandon(c.pending, c.abandoned.data() + before);
    stats.never_ended += running;
    c.gave_up = true;
}

}  // namespace wt
