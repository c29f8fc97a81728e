// net_null: frames of zeros as fast as they are asked for; what is sent is dropped. A client gets none, as they would answer
// nothing; the driver does not copy then.
#include "core/refusal.h"
#include "ports/kinds.h"

namespace wt {

port make_null(const endpoint_plan &e, size_t index, rte_mempool *pool) {
    const uint32_t bytes = *e.port.packet_bytes;
    // the driver writes this length into every mbuf and never looks at its room
    if (bytes == 0 || bytes > frame_room(pool))
        throw refusal("null wire: frames of " + std::to_string(bytes) +
                      " bytes do not fit the pool's mbufs, which hold 1 to " +
                      std::to_string(frame_room(pool)));
    const bool gives = e.side == side::server, copies = gives && *e.port.copy_bytes;
    port made{.kind = port_kind::null};
    make_vdev(made, "net_null", index, gives ? "size=" + std::to_string(bytes) + ",copy=" + (copies ? "1" : "0") : "no-rx=1");
    made.notes.push_back(std::string("net_null ") + (gives ? "gives frames of zeros at any rate and " : "") + "drops what is sent" +
                         (copies ? "" : "; no byte is copied"));
    return made;
}

}  // namespace wt
