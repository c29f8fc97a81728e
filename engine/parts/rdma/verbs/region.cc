// The server's region, and the memory that a client reads into or writes from.
#include "parts/rdma/verbs/verbs_port.h"

namespace wt {

void verbs_port::open_region(port &made) {
    plan_.side == side::server ? open_servers_region(made) : open_pieces(made);
}

// Its address and key travel with the response to a request to connect.
void verbs_port::open_servers_region(port &made) {
    bytes_ = rdma_memory(region_.bytes, nullptr);
    const bool reads = operation_ == rdma_operation::read;
    if (reads) random_bytes_fill(region_seed, bytes_.first(), bytes_.bytes());
    const int access = IBV_ACCESS_LOCAL_WRITE | (reads ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE);
    bytes_known_ = device_.add_memory(bytes_.first(), bytes_.bytes(), access, "the region");
    note_idle_server(made, reads);
}

// A client reads each piece into a place of its own, and writes from the region as it is to become.
void verbs_port::open_pieces(port &made) {
    const bool reads = operation_ == rdma_operation::read;
    const uint32_t places = places_of_queue(region_, size_.sends, queues_.size());
    const uint64_t each = reads ? places * region_.piece : 0;
    bytes_ = rdma_memory(reads ? each * queues_.size() : region_.bytes, nullptr);
    random_bytes_fill(region_seed, bytes_.first(), bytes_.bytes());
    bytes_known_ = device_.add_memory(bytes_.first(), bytes_.bytes(), IBV_ACCESS_LOCAL_WRITE, "pieces");
    for (verbs_queue &q : queues_) {
        verbs_one_sided &c = one_sided_.emplace_back(q.channel);
        c.places.region = region_;
        c.places.writes = !reads;
        c.places.local = bytes_.first() + q.index * each;
        c.local_key = bytes_known_->lkey;
        c.message_key = memory_->lkey;
        places_open(c.places, places);
        made.channels[q.index] = &c;
    }
    made.queue = &verbs_one_sided_ops;
    note_operations(made, region_, reads, places, size_.sends);
}

void verbs_port::add_region(named_counts &all) const {
    const bool reads = operation_ == rdma_operation::read;
    uint64_t done = 0, wrong = 0;
    for (const verbs_one_sided &c : one_sided_) {
        done += c.places.done;
        wrong += c.places.wrong;
    }
    if (plan_.side == side::server && !reads) wrong = wrongly_written(bytes_.first(), bytes_.bytes());
    count_operations(all, region_, reads, done, wrong);
}

}  // namespace wt
