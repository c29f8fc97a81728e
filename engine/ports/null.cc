// net_null: frames of zeros as fast as they are asked for; what is sent is dropped.
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
    port made{.kind = port_kind::null};
    make_vdev(made, "net_null", index,
              "size=" + std::to_string(bytes) + ",copy=" + (*e.port.copy_bytes ? "1" : "0"));
    made.notes.push_back("net_null gives frames of zeros at any rate and drops what is sent" +
                         std::string(*e.port.copy_bytes ? "" : "; no byte is copied"));
    return made;
}

}  // namespace wt
