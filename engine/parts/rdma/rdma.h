// RDMA: a port whose queues are endpoints of an RDMA library. Its transports stand in a folder each.
//
// What travels is a packet from its message header on. The 42 bytes in front of it stay in the mbuf, unused.
// An mbuf that is posted belongs to the transport until its completion.
#pragma once

#include <cstdint>
#include <string>

#include "parts/rdma/region.h"
#include "wires/wire.h"

namespace wt {

// rc: reliable, connected. ud: datagrams, which may be lost. rdm: reliable, unconnected.
enum class rdma_type : uint8_t { rc, ud, rdm };

// What a client does with a request: sends it, or reads or writes a piece of the server's region instead.
enum class rdma_operation : uint8_t { send, read, write };

// What an end says when it connects, and in its response: release and plan. Each side says another half of
// the plan's hash, so that who has heard one end cannot pass for the other one. A request of rdma_cm has room
// for no more.
constexpr size_t longest_introduction = 56;
std::string introduction_of(const std::string &plan_hash, side of);

// Of an introduction, what one learns who is refused: no more of the plan than a user is shown.
std::string shown_introduction(const std::string &introduction);

// What a server says instead that has a client already.
constexpr const char *busy_introduction = "busy";

// Why the end that has said this does not fit where this is `expected` of it; "" if it does.
std::string objection_to(side whom, const std::string &said, const std::string &expected);

inline side other_side(side of) { return of == side::client ? side::server : side::client; }

// One end, as its options say.
struct rdma_setup {
    const wire_end &end;
    std::string provider;
    rdma_type type;
    uint32_t inline_bytes;     // messages up to this are copied when they are posted
    uint32_t signal_every;     // of the other sends only every so manieth reports its completion
    std::string introduction;  // of this end
    std::string expected;      // introduction of the other end
    rdma_operation operation;
    region_shape region;  // of READ and WRITE
};

// An open end, for the control path. Its destructor closes it and frees the mbufs that it has.
class rdma_port {
  public:
    virtual ~rdma_port() = default;
    // A step towards the peer: called again until the link is up. Throws refusal.
    virtual void connect() = 0;
    virtual link_state link() = 0;
    virtual std::string words() const = 0;
    // Packets that came and were not received: their completion had an error.
    virtual uint64_t missed() const = 0;
    // Packets whose send ended with an error.
    virtual uint64_t failed() const = 0;
    virtual named_counts statistics() const = 0;
    // Frees what is on its way from `sender` to here; returns how many packets that were.
    virtual uint32_t drain(rdma_port &sender) = 0;
};

// Opens an end and fills the port's driver, notes, queue, channels and keeps. Throws refusal. Where the
// engine was built without libfabric, it refuses.
port open_fabric(const rdma_setup &setup);

// Likewise, over libibverbs and librdmacm.
port open_verbs(const rdma_setup &setup);

// Errors of completions, by their codes, and how often each came.
class rdma_errors {
  public:
    void add(int code, uint64_t times = 1) {
        for (auto &[known, count] : counts_)
            if (known == code || count == 0) {
                known = code;
                count += times;
                return;
            }
        others_ += times;
    }
    void add(const rdma_errors &more) {
        for (const auto &[code, count] : more.counts_)
            if (count) add(code, count);
        others_ += more.others_;
    }
    void append_to(named_counts &all, const std::string &what, const char *(*name_of)(int)) const {
        for (const auto &[code, count] : counts_)
            if (count) all.emplace_back(what + ": " + name_of(code), count);
        if (others_) all.emplace_back(what + ": other errors", others_);
    }
    uint64_t total() const {
        uint64_t sum = others_;
        for (const auto &error : counts_) sum += error.count;
        return sum;
    }

  private:
    // a handful: a worker allocates nothing
    struct {
        int code;
        uint64_t count;
    } counts_[8] = {};
    uint64_t others_ = 0;
};

}  // namespace wt
