#include "parts/rdma/fabric/trial.h"

#include <algorithm>
#include <cstring>

#include "core/random_bytes.h"
#include "parts/rdma/fabric/patience.h"

namespace wt {

namespace {

constexpr uint32_t small_bytes = 16;
constexpr uint32_t most_tried = 4096;  // of a queue's depth: more would take longer than it is worth
constexpr uint32_t tries = 3;          // of a message: a datagram may be lost
constexpr uint32_t unsignalled = 4;    // sends before the one that asks for a completion
constexpr uint32_t polls_after = 64;   // that would show a completion nobody has asked for
constexpr uint64_t arrival_ns = 20'000'000;
constexpr uint64_t seed = 0x5774747269616c;

// A completion; one with an error is put away.
bool has_ended(fid_cq *queue, fi_cq_msg_entry *done) {
    const ssize_t count = fi_cq_read(queue, done, 1);
    fi_cq_err_entry failed{};
    if (count == -FI_EAVAIL) fi_cq_readerr(queue, &failed, 0);
    return count == 1;
}

}  // namespace

trial::trial(trial_end &from, trial_end &to, std::span<uint8_t> memory, void *descriptor)
    : from_(from),
      to_(to),
      sent_(memory.data()),
      received_(memory.data() + memory.size() / 2),
      room_(memory.size() / 2),
      descriptor_(descriptor) {
    random_bytes_fill(seed, sent_, room_);
}

std::optional<fabric_ability> trial::find(const fabric_ability &wanted) {
    fabric_ability found{};
    found.receives = post_receives(wanted.receives);
    if (!arrives(small_bytes)) return std::nullopt;
    found.largest = largest_up_to(wanted.largest);
    found.selective = wanted.selective && is_selective();
    found.sends = post_sends(wanted.sends, found.selective);  // last: nobody takes them
    return found;
}

// One that the provider does not take is no receive.
uint32_t trial::post_receives(uint32_t most) {
    const uint32_t tried = std::min(most, most_tried);
    for (uint32_t i = 0; i < tried; i++)
        if (fi_recv(to_.endpoint.get(), received_, room_, descriptor_, FI_ADDR_UNSPEC,
                    &contexts_.emplace_back()) != 0)
            return i;
    return most;
}

// Sends that ask for no completion where that works: a queue may be full of them for good.
uint32_t trial::post_sends(uint32_t most, bool selective) {
    const uint32_t tried = std::min(most, most_tried);
    poll_until([&] { return reported_ >= asked_; });  // those before have no place any more
    for (uint32_t i = 0; i < tried; i++)
        if (send(small_bytes, selective ? 0 : FI_COMPLETION) != 0) return i;
    return most;
}

ssize_t trial::send(uint32_t bytes, uint64_t flags) {
    const iovec piece = {sent_, bytes};
    fi_msg message{};
    message.msg_iov = &piece;
    message.desc = &descriptor_;
    message.iov_count = 1;
    message.addr = from_.peer;
    message.context = &contexts_.emplace_back();
    const ssize_t error = fi_sendmsg(from_.endpoint.get(), &message, flags);
    asked_ += error == 0 && (flags & FI_COMPLETION);
    return error;
}

// Takes in completions of both ends, by which both go on. What has arrived is posted again.
void trial::poll() {
    fi_cq_msg_entry done;
    reported_ += has_ended(from_.sends.get(), &done);
    has_ended(from_.receives.get(), &done);
    has_ended(to_.sends.get(), &done);
    if (!has_ended(to_.receives.get(), &done)) return;
    arrived_++;
    last_bytes_ = done.len;
    post_receives(1);
}

template <typename Done>
bool trial::poll_until(Done done) {
    return with_patience(arrival_ns, [&] { return poll(), done(); });
}

bool trial::arrives(uint32_t bytes) {
    for (uint32_t i = 0; i < tries; i++) {
        std::memset(received_, 0, bytes);
        const uint64_t before = arrived_;
        ssize_t error = -FI_EAGAIN;
        poll_until([&] { return (error = send(bytes, FI_COMPLETION)) != -FI_EAGAIN; });
        if (error != 0) return false;
        const bool came = poll_until([&] { return arrived_ > before; });
        if (came && last_bytes_ == bytes && std::memcmp(sent_, received_, bytes) == 0) return true;
    }
    return false;
}

uint32_t trial::largest_up_to(uint32_t bytes) {
    if (arrives(bytes)) return bytes;
    uint32_t good = small_bytes, bad = bytes;
    while (bad - good > 1) {
        const uint32_t middle = good + (bad - good) / 2;
        (arrives(middle) ? good : bad) = middle;
    }
    return good;
}

bool trial::is_selective() {
    poll_until([&] { return reported_ >= asked_; });  // those before
    const uint64_t reported = reported_, arrived = arrived_;
    for (uint32_t i = 0; i <= unsignalled; i++)
        if (send(small_bytes, i == unsignalled ? FI_COMPLETION : 0) != 0) return false;
    const bool all =
        poll_until([&] { return arrived_ == arrived + unsignalled + 1 && reported_ > reported; });
    for (uint32_t i = 0; i < polls_after; i++) poll();
    return all && reported_ == reported + 1;
}

}  // namespace wt
