// Sizes that differ from message to message: a cursor over a sequence that the seed determines.
//
// A copy of a cursor draws the same sizes: a message that cannot be sent yet gets the same size later.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/sampler.h"
#include "core/terms.h"

namespace wt {

// What sizes are drawn from; shared by the applications of a workload, unchanged after start.
struct size_table {
    size_kind kind;
    std::vector<uint32_t> bytes;       // sequence and weighted: the sizes; uniform: the least and the most
    std::vector<wt_alias_slot> slots;  // weighted
    wt_alias alias{};

    size_table(size_kind of_kind, std::vector<uint32_t> of_bytes, const std::vector<double> &weights)
        : kind(of_kind), bytes(std::move(of_bytes)), slots(weights.size()) {
        if (kind == size_kind::weighted)
            wt_alias_init(&alias, slots.data(), weights.data(), static_cast<uint32_t>(slots.size()));
    }
    size_table(const size_table &) = delete;  // the alias points into its slots
    size_table &operator=(const size_table &) = delete;
};

struct size_cursor {
    const size_table *table;
    uint64_t random;  // splitmix64 state
    uint32_t at;      // sequence: the next one
};

// The size of the next message, its header included.
inline uint32_t size_next(size_cursor &c) {
    const size_table &t = *c.table;
    switch (t.kind) {
        case size_kind::sequence: {
            const uint32_t bytes = t.bytes[c.at];
            if (++c.at == t.bytes.size()) c.at = 0;
            return bytes;
        }
        case size_kind::uniform: {
            const uint64_t span = t.bytes[1] - t.bytes[0] + 1;
            return t.bytes[0] + static_cast<uint32_t>(random_below(&c.random, span));
        }
        case size_kind::weighted: return t.bytes[wt_alias_draw(&t.alias, &c.random)];
    }
    __builtin_unreachable();
}

}  // namespace wt
