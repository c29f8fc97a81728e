// A provider of libfabric for tests: its own tables of functions, over two endpoints that send to each other.
// What it carries, takes and reports is as a test says, whatever it would claim.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

namespace wt::test {

struct fake_queue : fid_cq {
    std::deque<fi_cq_msg_entry> done;
    std::deque<fi_cq_err_entry> failed;
    uint32_t reads = 0;

    fake_queue() : fid_cq{} {
        static fi_ops_cq of_queue = {.size = sizeof of_queue, .read = read, .readerr = read_error};
        static fi_ops of_object = {.size = sizeof of_object, .close = [](struct fid *) { return 0; }};
        fid.ops = &of_object;
        ops = &of_queue;
    }
    void end(void *context, size_t bytes) { done.push_back({context, 0, bytes}); }
    void fail(void *context, int error) {
        fi_cq_err_entry entry{};
        entry.op_context = context;
        entry.err = error;
        failed.push_back(entry);
    }
    static ssize_t read(fid_cq *queue, void *to, size_t most) {
        auto &q = static_cast<fake_queue &>(*queue);
        q.reads++;
        if (!q.failed.empty()) return -FI_EAVAIL;
        if (q.done.empty()) return -FI_EAGAIN;
        const size_t count = std::min(most, q.done.size());
        std::copy_n(q.done.begin(), count, static_cast<fi_cq_msg_entry *>(to));
        q.done.erase(q.done.begin(), q.done.begin() + static_cast<ptrdiff_t>(count));
        return static_cast<ssize_t>(count);
    }
    static ssize_t read_error(fid_cq *queue, fi_cq_err_entry *to, uint64_t) {
        auto &q = static_cast<fake_queue &>(*queue);
        if (q.failed.empty()) return -FI_EAGAIN;
        *to = q.failed.front();
        q.failed.pop_front();
        return 1;
    }
};

struct fake_endpoint : fid_ep {
    struct receive {
        void *to, *context;
    };
    struct sent {
        size_t bytes;
        bool signalled;
        void *context;
    };
    // what a test says
    size_t largest = SIZE_MAX;                     // larger messages are taken, and lost
    uint32_t loses = 0;                            // messages, the next ones
    size_t most_receives = SIZE_MAX;               // posted at once
    size_t most_sends = SIZE_MAX;                  // that have not reported
    bool reports_all = false;                      // whatever it is asked for
    ssize_t refuses_sends = 0, refuses_posts = 0;  // an error
    fake_endpoint *other = nullptr;

    fake_queue receives, sends;
    std::deque<receive> posted;
    std::vector<sent> log;
    size_t unreported = 0;

    fake_endpoint() : fid_ep{} {
        static fi_ops_msg messages = {
            .size = sizeof messages, .recv = recv, .send = send, .sendmsg = send_message, .inject = inject};
        static fi_ops of_object = {.size = sizeof of_object, .close = [](struct fid *) { return 0; }};
        fid.ops = &of_object;
        msg = &messages;
    }

    void forget() {
        for (fake_queue *q : {&receives, &sends}) q->done.clear(), q->failed.clear();
        posted.clear();
        log.clear();
        unreported = 0;
    }

    static fake_endpoint &of(fid_ep *e) { return static_cast<fake_endpoint &>(*e); }
    static ssize_t recv(fid_ep *e, void *to, size_t, void *, fi_addr_t, void *context) {
        fake_endpoint &f = of(e);
        if (f.refuses_posts != 0) return f.refuses_posts;
        if (f.posted.size() >= f.most_receives) return -FI_EAGAIN;
        f.posted.push_back({to, context});
        return 0;
    }
    static ssize_t send(fid_ep *e, const void *from, size_t bytes, void *, fi_addr_t, void *context) {
        return of(e).take(from, bytes, context, true);
    }
    static ssize_t send_message(fid_ep *e, const fi_msg *m, uint64_t flags) {
        return of(e).take(m->msg_iov->iov_base, m->msg_iov->iov_len, m->context, flags & FI_COMPLETION);
    }
    static ssize_t inject(fid_ep *e, const void *from, size_t bytes, fi_addr_t) {
        fake_endpoint &f = of(e);
        if (f.refuses_sends != 0) return f.refuses_sends;
        f.carry(from, bytes);
        return 0;
    }

    ssize_t take(const void *from, size_t bytes, void *context, bool signalled) {
        if (refuses_sends != 0) return refuses_sends;
        if (unreported >= most_sends) return -FI_EAGAIN;
        log.push_back({bytes, signalled, context});
        unreported++;
        carry(from, bytes);
        if (!signalled && !reports_all) return 0;
        sends.end(context, bytes);
        if (other != nullptr) unreported = 0;  // its completion is read before the next send
        return 0;
    }
    void carry(const void *from, size_t bytes) {
        if (other == nullptr || bytes > largest || other->posted.empty()) return;
        if (loses > 0) return static_cast<void>(loses--);
        const receive into = other->posted.front();
        other->posted.pop_front();
        std::memcpy(into.to, from, bytes);
        other->receives.end(into.context, bytes);
    }
};

}  // namespace wt::test
