#include "core/assembler.h"

#include <rte_branch_prediction.h>

#include <algorithm>
#include <utility>

namespace wt {

assembler::assembler(uint32_t applications, uint32_t slots, const segmentation &shape)
    : applications(applications),
      slots(slots),
      shape(shape),
      assemblies(size_t{applications} * slots),
      places((assemblies.size() + 1) * shape.segments),
      spare(places.data()) {
    void **at = spare + shape.segments;
    for (assembly &m : assemblies) {
        m.packets = at;
        at += shape.segments;
    }
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
    if (unlikely(h.segments != a.shape.segments)) return dropped(drop::bad_segment_count);
    if (unlikely(h.segment >= h.segments)) return dropped(drop::bad_segment_index);
    if (unlikely(body_bytes != segment_body_bytes(a.shape, h.segment)))
        return dropped(drop::bad_segment_length);

    assembly &m = a.assemblies[size_t{h.application} * a.slots + h.slot];
    if (!m.used || m.generation != h.generation) {
        if (m.used) {
            if (static_cast<int32_t>(h.generation - m.generation) < 0) return dropped(drop::stale_segment);
            if (unlikely(!m.complete)) {
                std::swap(m.packets, a.spare);
                *old = {a.spare, a.shape.segments};
            }
        }
        m = {.packets = m.packets, .generation = h.generation, .arrived = 0, .complete = false, .used = true};
        if (h.segments > 1) std::fill_n(m.packets, h.segments, nullptr);
    } else if (unlikely(m.complete || m.packets[h.segment] != nullptr)) {
        return dropped(drop::duplicate_segment);
    }

    m.packets[h.segment] = packet;
    if (++m.arrived != h.segments) return assembled::incomplete;
    m.complete = true;
    *message = &m;
    return assembled::complete;
}

}  // namespace wt
