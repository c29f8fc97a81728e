#include "client/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace wt::client {

static constexpr size_t read_at_once = 64 << 10;

connection::connection(int descriptor, protocol p, uint32_t inflight, uint32_t value)
    : descriptor_(descriptor), protocol_(p), waiting_(inflight) {
    in_.resize(read_at_once + value + 2 * longest_head);  // a response that is cut off, and one more read
}

connection::connection(connection &&other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      protocol_(other.protocol_),
      ended_(other.ended_),
      asked_(other.asked_),
      responses_(other.responses_),
      waiting_(std::move(other.waiting_)),
      out_(std::move(other.out_)),
      flushed_(other.flushed_),
      in_(std::move(other.in_)),
      filled_(other.filled_) {}

connection::~connection() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void connection::put(const pending &p) {
    waiting_[asked_++ % waiting_.size()] = p;
    ask(protocol_, p.asked, out_);
}

void connection::flush() {
    while (open() && flushed_ < out_.size()) {
        const ssize_t n =
            ::send(descriptor_, out_.data() + flushed_, out_.size() - flushed_, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (n < 0) {
            ended_ = ending::closed;
            return;
        }
        flushed_ += static_cast<size_t>(n);
    }
    out_.clear();
    flushed_ = 0;
}

void connection::read(std::vector<responses> &all) {
    if (!open()) return;
    const size_t room = std::min(in_.size() - filled_, read_at_once);
    const ssize_t n = ::recv(descriptor_, in_.data() + filled_, room, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (n <= 0) {
        ended_ = ending::closed;
        return;
    }
    filled_ += static_cast<size_t>(n);
    take_responses(all);
}

void connection::take_responses(std::vector<responses> &all) {
    size_t at = 0;
    while (at < filled_) {
        if (waiting() == 0) {  // a response without a request
            ended_ = ending::malformed;
            return;
        }
        const pending &next = waiting_[responses_ % waiting_.size()];
        const response a = read_response(protocol_, next.asked, {in_.data() + at, filled_ - at});
        if (a.state == response::incomplete) break;
        if (a.state == response::malformed) {
            ended_ = ending::malformed;
            return;
        }
        all.push_back({next, a.what});
        responses_++;
        at += a.length;
    }
    std::memmove(in_.data(), in_.data() + at, filled_ - at);
    filled_ -= at;
    // An incomplete response is shorter than its head and its value: an endless one is refused before the
    // room does.
    if (in_.size() - filled_ == 0) ended_ = ending::malformed;
}

}  // namespace wt::client
