// net_null: frames of zeros as fast as they are asked for; sent frames are dropped. A client gets none, as
// they get no response; the driver does not copy then.
#include "core/dpdk.h"
#include "core/refusal.h"
#include "wires/device.h"
#include "wires/wire.h"

namespace wt {

namespace {

constexpr wt_wire_option options[] = {
    {.name = "packet",
     .fallback = "64",
     .help = "size of the received frames, without FCS",
     .least = 60,
     .most = 9014,
     .type = WT_WIRE_BYTES,
     .scope = WT_WIRE_OF_WIRE,
     .flags = WT_WIRE_FRAME},
    {.name = "copy",
     .fallback = "true",
     .help = "copy every frame's bytes, as a NIC's DMA would",
     .type = WT_WIRE_BOOL,
     .scope = WT_WIRE_OF_WIRE},
    {},
};

std::vector<port> open_null(std::span<const wire_end> ends) {
    const wire_end &end = ends[0];
    const auto bytes = static_cast<uint32_t>(end.values.number("packet"));
    // the driver writes this length into every mbuf and never looks at its room
    if (bytes == 0 || bytes > frame_room(end.pool))
        throw refusal("null wire: frames of " + std::to_string(bytes) +
                      " bytes do not fit the pool's mbufs, which hold 1 to " +
                      std::to_string(frame_room(end.pool)));
    const bool gives = end.plan.side == side::server, to_copy = gives && end.values.truth("copy");
    const bool copies = to_copy && !null_copies_lose_mbufs;
    port made{};
    make_vdev(made, "net_null", end.index,
              gives ? "size=" + std::to_string(bytes) + ",copy=" + (copies ? "1" : "0") : "no-rx=1");
    made.notes.push_back(std::string("net_null ") + (gives ? "gives frames of zeros at any rate and " : "") +
                         "drops what is sent" + (copies ? "" : "; no byte is copied") +
                         (copies == to_copy ? "" : ", since this DPDK's driver never frees what it copied"));
    return {made};
}

}  // namespace

WT_WIRE(null) = {
    .about = {.abi = WT_WIRE_ABI,
              .size = sizeof(wt_wire),
              .name = "null",
              .help = "frames of zeros at any rate; sent frames are dropped",
              .driver = "net_null",
              .peer = "none",
              .copies = "one on receive and one on send with copy, none without",
              .flags = WT_WIRE_SERVER | WT_WIRE_CLIENT | WT_WIRE_SILENT | WT_WIRE_UNFILLED | WT_WIRE_TWICE,
              .most_queues = 64,
              .options = options,
              .mbufs = {.tx = 1}},
    .open = open_null,
};

}  // namespace wt
