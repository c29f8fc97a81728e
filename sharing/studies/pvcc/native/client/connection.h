// One TCP connection of the open-loop client: requests out, responses in, in their order. Never waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/dialect.h"

namespace wt::client {

struct pending {
    question asked;
    uint64_t intended_ns, sent_ns;
};

// The outcome of a request.
struct responses {
    pending of;
    outcome what;
};

enum class ending : uint8_t { none, closed, malformed };  // closed: by the peer, or reset

class connection {
  public:
    // `descriptor` is a connected socket that does not block, and is closed with the connection. At most
    // `inflight` requests wait.
    connection(int descriptor, protocol p, uint32_t inflight, uint32_t value);
    connection(connection &&other) noexcept;
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;
    ~connection();

    bool open() const { return ended_ == ending::none; }
    ending ended() const { return ended_; }
    int descriptor() const { return descriptor_; }
    uint32_t waiting() const { return static_cast<uint32_t>(asked_ - responses_); }
    bool has_room() const { return open() && waiting() < waiting_.size(); }

    // Takes a request; it is sent with the next flush. Only where there is room.
    void put(const pending &p);
    // Passes as much to the kernel as it accepts.
    void flush();
    // Calls `each` with every waiting request, the oldest first.
    template <typename Each>
    void each_waiting(Each each) const {
        for (uint64_t i = responses_; i != asked_; i++) each(waiting_[i % waiting_.size()]);
    }
    // Reads once and appends the responses. At the end of the connection, `waiting` requests are lost.
    void read(std::vector<responses> &all);

  private:
    void take_responses(std::vector<responses> &all);

    int descriptor_;
    protocol protocol_;
    ending ended_ = ending::none;
    uint64_t asked_ = 0, responses_ = 0;
    std::vector<pending> waiting_;  // ring
    std::string out_;
    size_t flushed_ = 0;
    std::vector<char> in_;
    size_t filled_ = 0;
};

}  // namespace wt::client
