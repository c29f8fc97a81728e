// The server's region, and the memory that a client reads into or writes from.
#include "core/refusal.h"
#include "parts/rdma/fabric/fabric_port.h"

namespace wt {

void fabric_port::open_region(port &made) {
    const int mode = queues_[0].offer->domain_attr->mr_mode;
    if (mode & FI_MR_PROV_KEY)
        throw refusal("rdma wire: " + provider_ +
                          " chooses the keys of memory itself, which nobody tells the other side",
                      "operation = \"send\", or another provider");
    plan_.side == side::server ? open_servers_region(made) : open_pieces(made);
}

void fabric_port::open_servers_region(port &made) {
    const bool by_address = queues_[0].offer->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    bytes_ = rdma_memory(region_.bytes, by_address ? region_address : nullptr);
    const bool reads = operation_ == rdma_operation::read;
    if (reads) random_bytes_fill(region_seed, bytes_.first(), bytes_.bytes());
    bytes_known_ = make_fabric<fid_mr>(provider_, "registering the region", [&](fid_mr **m) {
        return fi_mr_reg(domain_.get(), bytes_.first(), bytes_.bytes(),
                         reads ? FI_REMOTE_READ : FI_REMOTE_WRITE, 0, region_key, 0, m, nullptr);
    });
    note_idle_server(made, reads);
}

// A client reads each piece into a place of its own, and writes from the region as it is to become.
void fabric_port::open_pieces(port &made) {
    const bool reads = operation_ == rdma_operation::read;
    const uint64_t depth =
        queues_[0].channel.tx.posted.most ? queues_[0].channel.tx.posted.most : plan_.port.tx_descriptors;
    const uint32_t places = places_of_queue(region_, depth, queues_.size());
    const uint64_t each = reads ? places * region_.piece : 0;
    bytes_ = rdma_memory(reads ? each * queues_.size() : region_.bytes, nullptr);
    random_bytes_fill(region_seed, bytes_.first(), bytes_.bytes());
    if (queues_[0].offer->domain_attr->mr_mode & FI_MR_LOCAL)
        bytes_known_ = make_fabric<fid_mr>(provider_, "registering pieces", [&](fid_mr **m) {
            return fi_mr_reg(domain_.get(), bytes_.first(), bytes_.bytes(), reads ? FI_READ : FI_WRITE, 0, 0,
                             0, m, nullptr);
        });
    const bool by_address = queues_[0].offer->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    for (fabric_queue_pair &q : queues_) {
        one_sided_channel &c = one_sided_.emplace_back(one_sided_channel{
            .messages = q.channel,
            .places = {.region = region_, .writes = !reads, .local = bytes_.first() + q.index * each},
            .remote = by_address ? reinterpret_cast<uint64_t>(region_address) : 0,
            .descriptor = bytes_known_ ? fi_mr_desc(bytes_known_.get()) : nullptr,
        });
        places_open(c.places, places);
        made.channels[q.index] = &c;
    }
    made.queue = &one_sided_queue;
    note_operations(made, region_, reads, places, depth);
}

void fabric_port::add_region(named_counts &all) const {
    const bool reads = operation_ == rdma_operation::read;
    uint64_t done = 0, wrong = 0;
    for (const one_sided_channel &c : one_sided_) {
        done += c.places.done;
        wrong += c.places.wrong;
    }
    if (plan_.side == side::server && !reads) wrong = wrongly_written(bytes_.first(), bytes_.bytes());
    count_operations(all, region_, reads, done, wrong);
}

}  // namespace wt
