#include "core/assembler.h"

#include <rte_branch_prediction.h>

#include <algorithm>
#include <utility>

namespace wt {

assembler::assembler(uint32_t applications, uint32_t slots, const segmentation &largest, bool sizes_vary)
    : applications(applications),
      slots(slots),
      largest(largest),
      sizes_vary(sizes_vary),
      assemblies(size_t{applications} * slots),
      places((assemblies.size() + 1) * largest.segments),
      spare(places.data()) {
    void **at = spare + largest.segments;
    for (assembly &m : assemblies) {
        m.packets = at;
        at += largest.segments;
    }
}

// Whether a segment has the length that its position in the message requires.
static bool length_fits(const assembler &a, const message_header &h, uint32_t body_bytes) {
    const segmentation &s = a.largest;
    if (h.segment + 1 < h.segments) return body_bytes == s.segment_body;
    if (!a.sizes_vary) return body_bytes == s.last_body;
    const uint32_t most = h.segments == s.segments ? s.last_body : s.segment_body;
    return body_bytes <= most && (body_bytes > 0 || h.segments == 1);
}

assembled assemble(assembler &a, void *packet, const message_header &h, uint32_t body_bytes,
                   assembly **message, superseded *old, drop *why) {
    *old = {nullptr, 0};
    const auto dropped = [why](drop reason) {
        *why = reason;
        return assembled::dropped;
    };
    if (unlikely(h.application >= a.applications)) return dropped(drop::unknown_application);
    if (unlikely(h.slot >= a.slots)) return dropped(drop::bad_slot);
    const uint32_t fewest = a.sizes_vary ? 1 : a.largest.segments;
    if (unlikely(h.segments < fewest || h.segments > a.largest.segments))
        return dropped(drop::bad_segment_count);
    if (unlikely(h.segment >= h.segments)) return dropped(drop::bad_segment_index);
    if (unlikely(!length_fits(a, h, body_bytes))) return dropped(drop::bad_segment_length);

    assembly &m = a.assemblies[size_t{h.application} * a.slots + h.slot];
    if (m.segments == 0 || m.generation != h.generation) {
        if (m.segments > 0 && static_cast<int32_t>(h.generation - m.generation) < 0)
            return dropped(drop::stale_segment);
        if (unlikely(assembly_is_open(m))) {
            std::swap(m.packets, a.spare);
            *old = {a.spare, m.segments};
        }
        m = {.packets = m.packets, .generation = h.generation, .arrived = 0, .segments = h.segments};
        if (h.segments > 1) std::fill_n(m.packets, h.segments, nullptr);
    } else if (unlikely(m.segments != h.segments)) {
        return dropped(drop::bad_segment_count);
    } else if (unlikely(!assembly_is_open(m) || m.packets[h.segment] != nullptr)) {
        return dropped(drop::duplicate_segment);
    }

    m.packets[h.segment] = packet;
    m.arrived++;
    if (assembly_is_open(m)) return assembled::incomplete;
    *message = &m;
    return assembled::complete;
}

}  // namespace wt
