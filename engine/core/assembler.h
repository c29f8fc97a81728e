// Puts the segments of requests together, in any order of arrival, with loss and duplicates (server side, one
// for each application). A message's place is its sender's slot: no search, no allocation after start.
#pragma once

#include <cstdint>
#include <vector>

#include "core/drop.h"
#include "core/message.h"

namespace wt {

// One message that is being put together. `packets` has one place a segment, nullptr where it is missing.
struct assembly {
    void **packets;
    uint32_t generation;
    uint16_t arrived;   // as many as `segments`: handed over, later copies are duplicates
    uint16_t segments;  // of the message, as its first segment said; 0 until the slot has had one
};
static_assert(sizeof(assembly) == 16);

// Segments have come, and others are missing.
inline bool assembly_is_open(const assembly &m) { return m.arrived < m.segments; }

class assembler {
  public:
    // `applications` of the client x `slots` each. Every message has the segments that `largest` says, or,
    // where sizes vary, at most those.
    assembler(uint32_t applications, uint32_t slots, const segmentation &largest, bool sizes_vary);

    uint32_t applications, slots;
    segmentation largest;
    bool sizes_vary;
    std::vector<assembly> assemblies;  // [application * slots + slot]
    std::vector<void *> places;        // of all assemblies, then of one message more
    void **spare;                      // changes places with the packets of a message that is superseded

    assembler(const assembler &) = delete;  // assemblies point into places
    assembler &operator=(const assembler &) = delete;
    assembler(assembler &&) = default;
    assembler &operator=(assembler &&) = default;
};

enum class assembled : uint8_t { incomplete, complete, dropped };

// Packets that a newer message in the same slot made useless: the caller frees and counts them
// (drop::superseded).
struct superseded {
    void **packets;   // may hold nullptr; valid until the next call
    uint32_t places;  // 0 where there are none
};

// Takes one segment's packet. `complete`: *message has every segment; the caller owns them from here on (its
// places are left filled until the slot's next message). `dropped`: the caller still owns `packet`, *why says
// why. *old is always set. Generations are compared in serial-number arithmetic (RFC 1982).
assembled assemble(assembler &a, void *packet, const message_header &h, uint32_t body_bytes,
                   assembly **message, superseded *old, drop *why);

}  // namespace wt
