// A copier that does what a test says.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>

#include "parts/copies/copiers/copier.h"

namespace wt::test {

struct by_hand {
    std::deque<copy_piece> running;
    uint32_t room = UINT32_MAX, may_end = 0;
    copy_end how = copy_end::well;
    bool copies = true;

    // Takes the place of the copier behind `channel`.
    void replace(copy_channel &channel) {
        channel.close(channel.state);
        channel = {.state = this, .submit = submit, .completed = completed, .close = [](void *) {}};
    }

    static uint32_t submit(void *state, const copy_piece *pieces, uint32_t count) {
        by_hand &h = *static_cast<by_hand *>(state);
        const uint32_t taken = std::min(count, h.room);
        h.running.insert(h.running.end(), pieces, pieces + taken);
        h.room -= taken;
        return taken;
    }
    static uint32_t completed(void *state, copy_end *ends, uint32_t most) {
        by_hand &h = *static_cast<by_hand *>(state);
        uint32_t count = 0;
        for (; count < most && h.may_end > 0 && !h.running.empty(); count++, h.may_end--) {
            const copy_piece piece = h.running.front();
            h.running.pop_front();
            if (h.copies && h.how == copy_end::well) std::memcpy(piece.to, piece.from, piece.bytes);
            ends[count] = h.how;
        }
        return count;
    }
};

}  // namespace wt::test
