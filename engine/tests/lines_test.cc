// What two stages write at every call shares no cache line where they run on two workers. Starts EAL on
// ordinary memory.
#include <set>

#include "stages_rig.h"

namespace wt::test::lines_test {
namespace {

const needs_eal eal(64);

// The cache lines of fields and of the elements of vectors.
struct cache_lines {
    std::set<uintptr_t> seen;

    void add(const void *begin, size_t bytes) {
        for (uintptr_t at = reinterpret_cast<uintptr_t>(begin) & -uintptr_t{RTE_CACHE_LINE_SIZE};
             at < reinterpret_cast<uintptr_t>(begin) + bytes; at += RTE_CACHE_LINE_SIZE)
            seen.insert(at);
    }
    template <typename... Field>
    cache_lines &fields(const Field &...field) {
        return (add(&field, sizeof field), ...), *this;
    }
    template <typename... Vector>
    cache_lines &elements(const Vector &...of) {
        return (add(of.data(), of.size() * sizeof of[0]), ...), *this;
    }
};

bool share_none(const cache_lines &a, const cache_lines &b) {
    return std::ranges::none_of(a.seen, [&](uintptr_t line) { return b.seen.contains(line); });
}

TEST(cache_lines, of_app_tx_and_app_rx_are_apart) {
    rig r(rig_plan());
    const application &a = r.app(client);
    const client_sending &s = *a.sending;
    const client_receiving &g = *a.receiving;
    cache_lines tx, rx;
    tx.fields(a.next_link, a.out, s).elements(a.out.packets, s.slots, s.names, s.intended, s.pattern);
    rx.fields(a.links, a.batch_rx, a.inflight, a.receiving, a.inflight->expiry_hand, g)
        .elements(g.packets, g.retired);
    EXPECT_TRUE(share_none(tx, rx));
    EXPECT_TRUE(share_none(cache_lines().fields(a.inflight->slots, a.inflight->free),
                           cache_lines().fields(a.inflight->expiry_hand)));
}

TEST(cache_lines, of_disp_rx_and_disp_tx_are_apart) {
    rig r(rig_plan());
    const dispatcher &d = r.disp(client);
    cache_lines tx, rx;
    tx.fields(d.next_link, d.headers).elements(d.nic.sending->producer_side);
    rx.fields(d.plain, d.only_link, d.links, d.views, d.steps, d.nic.received, d.nic.sending,
              d.nic.is_emulated)
        .elements(d.views, d.passed, d.sorted[0]);
    EXPECT_TRUE(share_none(tx, rx));
}

}  // namespace
}  // namespace wt::test::lines_test
