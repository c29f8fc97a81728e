// The server's region, and the memory that a client reads into or writes from.
#include <algorithm>

#include "core/refusal.h"
#include "wires/rdma/fabric/fabric_port.h"

namespace wt {

namespace {

constexpr uint64_t most_local_bytes = 256 << 20;  // of the pieces that a client may read at once

}  // namespace

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
    made.notes.push_back(std::string("the server's stages are idle: ") + (reads ? "READ" : "WRITE") +
                         " asks its library alone");
}

// A client reads each piece into a place of its own, and writes from the region as it is to become.
void fabric_port::open_pieces(port &made) {
    const bool reads = operation_ == rdma_operation::read;
    const uint64_t depth =
        queues_[0].channel.tx.posted.most ? queues_[0].channel.tx.posted.most : plan_.port.tx_descriptors;
    const uint64_t of_queue = most_local_bytes / region_.piece / queues_.size();
    const auto places = static_cast<uint32_t>(std::clamp<uint64_t>(of_queue, 1, depth));
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
            .region = region_,
            .writes = !reads,
            .remote = by_address ? reinterpret_cast<uint64_t>(region_address) : 0,
            .local = bytes_.first() + q.index * each,
            .descriptor = bytes_known_ ? fi_mr_desc(bytes_known_.get()) : nullptr,
            .holding = {},
            .free = {},
        });
        one_sided_open(c, places);
        made.channels[q.index] = &c;
    }
    made.queue = &one_sided_queue;
    made.notes.push_back(
        std::string(reads ? "READ" : "WRITE") + " of pieces of " + std::to_string(region_.piece) +
        " bytes, in place of requests; the bytes of the port are those of the requests alone");
    if (places < depth)
        made.notes.push_back("at most " + std::to_string(places) +
                             " pieces a queue are under way: so many have room in 256 MiB");
}

void fabric_port::add_region(named_counts &all) const {
    const bool reads = operation_ == rdma_operation::read;
    uint64_t done = 0, wrong = 0;
    for (const one_sided_channel &c : one_sided_) {
        done += c.done;
        wrong += c.wrong;
    }
    if (done) all.emplace_back(reads ? "bytes read" : "bytes written", done * region_.piece);
    if (plan_.side == side::server && !reads) wrong = wrongly_written(bytes_.first(), bytes_.bytes());
    if (wrong) all.emplace_back(reads ? "wrong pieces read" : "wrong bytes written", wrong);
}

}  // namespace wt
