#include "run/tracer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/refusal.h"

namespace wt {

tracer::tracer(const trace_plan &plan, const std::vector<worker_plan> &workers, uint64_t start_tsc,
               double ns_per_tick)
    : limit_(plan.limit_events) {
    for (size_t i = 0; i < workers.size(); i++)
        workers_.emplace_back(static_cast<uint16_t>(i), plan.every, workers[i].stages.size());
    file_ = open(plan.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file_ < 0 && errno == EEXIST)
        throw refusal("tracing to " + plan.path + ": the file exists and is not overwritten",
                      "use another run directory");
    if (file_ < 0) throw refusal("tracing to " + plan.path + ": " + std::strerror(errno));
    trace_header header{};
    header.start_tsc = start_tsc;
    header.ns_per_tick = ns_per_tick;
    append(&header, sizeof header);
}

tracer::~tracer() {
    if (file_ >= 0) ::close(file_);
}

void tracer::drain() {
    for (worker_trace &t : workers_) drain(t);
}

void tracer::drain(worker_trace &from) {
    trace_event events[1024];
    // only those that are there now: a busy worker must not keep main here
    for (uint32_t left = from.ring.used(); left > 0;) {
        const uint32_t count = from.ring.take(events, std::min<uint32_t>(left, 1024));
        const auto wanted = static_cast<uint32_t>(std::min<uint64_t>(count, limit_ - events_));
        const uint32_t written = append(events, wanted * sizeof(trace_event)) ? wanted : 0;
        events_ += written;
        missed_ += count - written;
        left -= count;
    }
}

bool tracer::append(const void *bytes, size_t count) {
    const char *next = static_cast<const char *>(bytes);
    for (size_t left = count; left > 0 && !fault_;) {
        const ssize_t n = write(file_, next, left);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            fault_ = std::strerror(errno);
            // a partly written event is removed from the file
            if (ftruncate(file_, static_cast<off_t>(bytes_)) < 0) fault_ = std::strerror(errno);
            break;
        }
        next += n, left -= static_cast<size_t>(n);
    }
    if (!fault_) bytes_ += count;
    return !fault_;
}

traced tracer::close() {
    drain();
    uint64_t missed = missed_;
    for (const worker_trace &t : workers_) missed += t.missed.load(std::memory_order_relaxed);
    if (::close(file_) < 0 && !fault_) fault_ = std::strerror(errno);
    file_ = -1;
    return {events_, missed, fault_};
}

}  // namespace wt
