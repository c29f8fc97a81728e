#include "parts/rdma/places.h"

namespace wt {

uint32_t places_of_queue(const region_shape &region, uint64_t depth, size_t queues) {
    constexpr uint64_t most_local_bytes = 256 << 20;
    return static_cast<uint32_t>(std::clamp<uint64_t>(most_local_bytes / region.piece / queues, 1, depth));
}

void note_operations(port &made, const region_shape &region, bool reads, uint32_t places, uint64_t depth) {
    made.notes.push_back(
        std::string(reads ? "READ" : "WRITE") + " of pieces of " + std::to_string(region.piece) +
        " bytes, in place of requests; the bytes of the port are those of the requests only");
    if (places < depth)
        made.notes.push_back("at most " + std::to_string(places) +
                             " pieces a queue are under way: so many have room in 256 MiB");
}

void note_idle_server(port &made, bool reads) {
    made.notes.push_back(std::string("the server's stages are idle: ") + (reads ? "READ" : "WRITE") +
                         " asks its library alone");
}

void count_operations(named_counts &all, const region_shape &region, bool reads, uint64_t done,
                      uint64_t wrong) {
    if (done) all.emplace_back(reads ? "bytes read" : "bytes written", done * region.piece);
    if (wrong) all.emplace_back(reads ? "wrong pieces read" : "wrong bytes written", wrong);
}

}  // namespace wt
