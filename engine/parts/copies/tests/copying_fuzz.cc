// Packets that wait for their copies, against a plain model: whatever a copier does, every packet leaves
// once, in its turn, with its bytes, or is among those that are never used again.
#include <cstdlib>
#include <deque>
#include <vector>

#include "parts/copies/copying.h"
#include "stages/client_state.h"
#include "stages/server_state.h"

namespace wt {
application::application() = default;
application::~application() = default;
}  // namespace wt

namespace {

using namespace wt;

void must(bool holds) {
    if (!holds) std::abort();
}

// What the copier has, and what it does next.
struct model_copier {
    std::deque<copy_piece> running;
    uint32_t room = 0, may_end = 0;
    bool fails = false;

    static uint32_t submit(void *state, const copy_piece *pieces, uint32_t count) {
        auto &m = *static_cast<model_copier *>(state);
        const uint32_t taken = std::min(count, m.room);
        m.running.insert(m.running.end(), pieces, pieces + taken);
        return taken;
    }
    static uint32_t completed(void *state, copy_end *ends, uint32_t most) {
        auto &m = *static_cast<model_copier *>(state);
        uint32_t count = 0;
        for (; count < most && m.may_end > 0 && !m.running.empty(); count++, m.may_end--) {
            const copy_piece &p = m.running.front();
            if (!m.fails) std::memcpy(p.to, p.from, p.bytes);
            ends[count] = m.fails ? copy_end::failed : copy_end::well;
            m.running.pop_front();
        }
        return count;
    }
};

constexpr uint32_t piece_bytes = 4, most_pieces = 3, burst = 4;

struct made_packet {
    uint32_t pieces;
    uint8_t from[most_pieces * piece_bytes], to[most_pieces * piece_bytes];
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    model_copier copier;
    copy_channel channel;
    channel.state = &copier, channel.submit = model_copier::submit,
    channel.completed = model_copier::completed;
    const uint32_t depth = 1 + data[0] % 16, batch = 1 + data[1] % 8;
    application a;
    auto bodies = std::make_unique<copied_bodies>();
    bodies->copying =
        std::make_unique<body_copying>(channel, std::bit_ceil(depth + batch + 2 * burst * most_pieces));
    body_copying &c = *bodies->copying;
    a.bodies = std::move(bodies);
    c.way = data[0] & 0x40 ? copy_way::wait_all : copy_way::pipelined;
    c.burst = burst * most_pieces, c.depth = depth, c.batch = batch, c.at_least = 0, c.timeout = 1000;
    c.verify = true;
    c.ends.resize(batch);
    wt::link links[2];
    for (wt::link &l : links) {
        l.to_dispatcher = std::make_unique<packet_ring>("fuzz", 8);
        a.links.push_back(&l);
    }
    auto stats = std::make_unique<stage_stats>();
    stats->of_part = std::make_unique<copy_stats>();
    copy_stats &counted = copies_of(*stats);
    counted.clear();
    std::deque<made_packet> made;  // the place of one stands for its mbuf
    std::vector<made_packet *> order[2];
    uint64_t now = 1, left = 0;

    const auto drain = [&](uint32_t which, uint32_t most) {
        rte_mbuf *m;
        for (; most > 0 && links[which].to_dispatcher->take(&m, 1) == 1; most--, left++) {
            auto *p = reinterpret_cast<made_packet *>(m);
            auto &waiting = order[which];
            while (!waiting.empty() && waiting.front() != p) {
                must(std::ranges::find(c.abandoned, reinterpret_cast<rte_mbuf *>(waiting.front())) !=
                     c.abandoned.end());
                waiting.erase(waiting.begin());
            }
            must(!waiting.empty());
            waiting.erase(waiting.begin());
            must(std::memcmp(p->from, p->to, p->pieces * piece_bytes) == 0);
        }
    };
    const auto make = [&](uint8_t what) {
        for (uint32_t i = 0; i < 1u + what % burst; i++) {
            made_packet &p = made.emplace_back();
            p.pieces = (what / 4u + i) % (most_pieces + 1);
            const auto link = static_cast<uint16_t>(what >> 7);
            std::memset(p.from, static_cast<int>(made.size()), sizeof p.from);
            auto *m = reinterpret_cast<rte_mbuf *>(&p);
            order[link].push_back(&p);
            if (p.pieces == 0) add_ready(c, m, link);
            for (uint32_t j = 0; j < p.pieces; j++)
                add_copy(c, j + 1 == p.pieces ? m : nullptr, p.to + j * piece_bytes, p.from + j * piece_bytes,
                         piece_bytes, link);
        }
    };
    const auto call = [&](int what) {
        const stage_call in{stats.get(), now};
        const copying_call begun = begin_copying(a, burst, in);
        const bool makes = what >= 0 && wants_packets(c);
        if (makes) make(static_cast<uint8_t>(what));
        const call_result r = end_copying(a, begun, burst, makes, false, in);
        must(r.objects <= burst && c.pending.running <= depth);
        must(c.pending.running == (c.gave_up ? 0 : copier.running.size()));
        must(r.stalled != for_copies || c.pending.running > 0);
    };
    for (size_t i = 2; i < size; i++) {
        const uint32_t amount = data[i] >> 3;
        switch (data[i] & 7) {
            case 0: copier.room = amount; break;
            case 1: call(static_cast<int>(data[i])); break;
            case 2: copier.may_end = amount; break;
            case 3: copier.fails = amount & 1; break;
            case 4: now += amount * 100; break;
            case 5: drain(amount & 1, amount); break;
            case 6: call(-1); break;
            case 7: copier.may_end += amount, finish_copies(c, counted, 0); break;
        }
    }
    copier.room = copier.may_end = UINT32_MAX;
    for (uint32_t i = 0; i < 10000 && c.pending.count() > 0; i++) call(-1), drain(0, 8), drain(1, 8);
    drain(0, 8), drain(1, 8);
    must(c.pending.count() == 0 && left + c.abandoned.size() == made.size());
    must(c.submitted == c.ended + counted.never_ended);
    return 0;
}
