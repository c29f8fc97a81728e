// Copies of packets' bodies that may end later. The packets wait in one FIFO and leave in their order; what
// no copier takes, the CPU copies.
#include "parts/copies/copying.h"

#include <rte_memcpy.h>
#include <rte_pause.h>

namespace wt {

namespace {

// The ticks of a step, in calls whose cycles are taken. A copier may hold the run, and that is no part of it.
class step_timer {
  public:
    explicit step_timer(const body_copying &c)
        : steps_(c.steps->now ? c.steps->now + c.steps->added_from : nullptr),
          since_(steps_ ? wt_ticks() : 0),
          held_(steps_ ? held_ticks : 0) {}
    void end(copy_step step, uint64_t copies) {
        if (likely(steps_ == nullptr)) return;
        since_ += held_ticks - held_;
        held_ = held_ticks;
        since_ = wt_step_end(&steps_[static_cast<size_t>(step)], since_, copies);
    }

  private:
    wt_step *steps_;
    uint64_t since_, held_;
};

void leave_to_cpu(body_copying &c, pending_copy &copy, copy_reason why, copy_stats &stats) {
    copy.runs = false;
    c.left.push_back({copy.to, copy.from, copy.bytes});
    stats.by_cpu[static_cast<size_t>(why)]++;
}

// Copies what was left to the CPU. No packet leaves before.
void copy_by_cpu(body_copying &c, step_timer &timer) {
    if (likely(c.left.empty())) return;
    for (const copy_piece &piece : c.left) rte_memcpy(piece.to, piece.from, piece.bytes);
    timer.end(copy_step::by_cpu, c.left.size());
    c.left.clear();
}

bool is_for_cpu(const body_copying &c, const pending_copy &copy) {
    return copy.bytes < c.at_least || c.gave_up;
}

// Takes the next copies for one submit, in c.pieces and c.which.
void gather(body_copying &c, uint64_t now, copy_stats &stats) {
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
void start_copies(body_copying &c, uint64_t now, copy_stats &stats) {
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

void end_copy(body_copying &c, pending_copy &copy, copy_end how, uint64_t now, copy_stats &stats) {
    if (!c.channel.immediate) stats.completion.add(now - copy.since);
    if (unlikely(how == copy_end::failed)) return leave_to_cpu(c, copy, copy_reason::failed, stats);
    copy.runs = false;
    stats.copies++;
    if (!c.channel.immediate) stats.sizes.add(copy.bytes);
}

// Asks which copies have ended, a batch at most, and passes what needs none. Returns how many have ended.
uint32_t poll_copies(body_copying &c, uint64_t now, copy_stats &stats) {
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
void watch(body_copying &c, uint64_t now, copy_stats &stats) {
    if (c.pending.running > 0 && now - c.pending.copy(c.pending.ended).since > c.timeout)
        abandon_copies(c, stats);
}

// Copies and ends whatever an immediate copier has to do.
void copy_at_once(body_copying &c, uint64_t now, copy_stats &stats) {
    while (c.pending.ended != c.pending.tail) {
        start_copies(c, now, stats);
        poll_copies(c, now, stats);
    }
}

// Why a call did nothing.
stalled_for wanting(const body_copying &c, bool lacks_mbufs) {
    if (lacks_mbufs) return for_mbufs;
    if (c.pending.running > 0) return for_copies;
    return c.pending.count() > 0 ? for_ring : not_stalled;
}

// A call that found no finished copy is stall: its poll is no part of the copies' work.
void forget_steps(body_copying &c) {
    if (unlikely(c.steps->now != nullptr)) c.steps->taken.fill({});
}

}  // namespace

// Packets whose bodies are there. With wait_all none leaves before all are there that were made with it.
uint32_t release_packets(application &a, uint32_t most) {
    body_copying &c = copying_of(a);
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

copying_call begin_copying(application &a, uint32_t most, const stage_call &call) {
    body_copying &c = copying_of(a);
    copying_call now_in{stage_now(call), c.pending.started, c.pending.ended, 0};
    if (c.pending.ended != c.pending.started && poll_copies(c, now_in.now, copies_of(call)) == 0)
        watch(c, now_in.now, copies_of(call));
    now_in.moved = c.release(a, most);
    return now_in;
}

call_result end_copying(application &a, copying_call before, uint32_t most, bool made, bool lacks_mbufs,
                        const stage_call &call) {
    body_copying &c = copying_of(a);
    copy_stats &stats = copies_of(call);
    start_copies(c, before.now, stats);
    if (c.channel.immediate) copy_at_once(c, before.now, stats);
    uint32_t moved = before.moved;
    if (moved < most) moved += c.release(a, most - moved);
    const bool worked = made || c.pending.started != before.started || c.pending.ended != before.ended;
    const stalled_for want = moved || worked ? not_stalled : wanting(c, lacks_mbufs);
    if (want != not_stalled) forget_steps(c);
    return {moved, want, worked};
}

bool finish_copies(body_copying &c, copy_stats &stats, uint64_t patience) {
    const uint64_t start = rte_rdtsc();
    while (c.pending.running > 0) {
        if (poll_copies(c, now(), stats) == 0) rte_pause();
        if (c.pending.running > 0 && rte_rdtsc() - start > patience) return false;
    }
    return true;
}

void abandon_copies(body_copying &c, copy_stats &stats) {
    const size_t before = c.abandoned.size(), running = c.pending.running;
    if (c.release == release_packets) {
        c.abandoned.resize(before + running);  // within what is reserved
        c.abandoned.resize(before + pending_abandon(c.pending, c.abandoned.data() + before));
    } else {
        pending_clear(c.pending);
    }
    stats.never_ended += running;
    c.gave_up = true;
}

}  // namespace wt
