#include "parts/rdma/verbs/device.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/refusal.h"
#include "parts/rdma/address.h"

namespace wt {

namespace {

constexpr uint32_t fewest_posts = 16;  // a device that gives fewer is none for a burst

std::string side_of(const endpoint_plan &e) { return side_names[static_cast<int>(e.side)]; }

[[noreturn]] void refuse_address(const endpoint_plan &e, const std::string &why) {
    throw refusal(
        "rdma wire: no RDMA device has the address " + dotted(e.ip.v4) + " of " + side_of(e) + ".ip" + why,
        "`rdma link` lists devices, each with its interface, and `ip address` the addresses of those; "
        "`modprobe rdma_ucm` loads what connects, and `rdma link add rxe0 type rxe netdev INTERFACE` makes a "
        "software device, if the kernel has rdma_rxe");
}

// Events are polled: the descriptor must not wait.
verbs_handle<rdma_event_channel> open_events(const endpoint_plan &e) {
    verbs_handle<rdma_event_channel> events(rdma_create_event_channel());
    if (!events && errno == EACCES)
        throw refusal(
            "rdma wire: this user may not open /dev/infiniband/rdma_cm",
            "chmod 666 /dev/infiniband/rdma_cm, which is what Debian's udev rule does, or run as root");
    if (!events) refuse_address(e, std::string(": the kernel has none (") + std::strerror(errno) + ")");
    ::fcntl(events->fd, F_SETFL, ::fcntl(events->fd, F_GETFL) | O_NONBLOCK);
    return events;
}

std::string locked_memory_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur) + " bytes";
}

}  // namespace

verbs_device::verbs_device(const rdma_setup &setup)
    : plan_(setup.end.plan), type_(setup.type), events_(open_events(plan_)) {
    home_ = bind(0, nullptr);
    if (home_->verbs == nullptr) refuse_address(plan_, "");
    name_ = ibv_get_device_name(home_->verbs->device);
    check(ibv_query_device(home_->verbs, &claims_) == 0, "asking what it is");
    check(ibv_query_port(home_->verbs, home_->port_num, &port_) == 0, "asking for its port");
    check_port();
    domain_.reset(ibv_alloc_pd(home_->verbs));
    check(domain_ != nullptr, "opening a protection domain");
}

void verbs_device::check(bool made, const std::string &what) const {
    if (!made) throw refusal("rdma wire: " + name_ + ": " + what + ": " + std::strerror(errno));
}

void verbs_device::check_port() const {
    if (port_.state == IBV_PORT_ACTIVE) return;
    throw refusal("rdma wire: port " + std::to_string(home_->port_num) + " of " + name_ + " is " +
                      ibv_port_state_str(port_.state) + ", not " + ibv_port_state_str(IBV_PORT_ACTIVE),
                  "`ip link set INTERFACE up`; `rdma link show " + name_ + "` names the interface");
}

uint64_t verbs_device::largest_message() const {
    if (type_ != rdma_type::ud) return port_.max_msg_sz;
    return uint64_t{128} << port_.active_mtu;  // IBV_MTU_256 is 1
}

verbs_handle<rdma_cm_id> verbs_device::bind(uint16_t port, void *context) const {
    rdma_cm_id *made = nullptr;
    check(rdma_create_id(events_.get(), &made, context, type_ == rdma_type::ud ? RDMA_PS_UDP : RDMA_PS_TCP) ==
              0,
          "opening an id");
    verbs_handle<rdma_cm_id> id(made);
    sockaddr_in own = socket_address(plan_.ip.v4, port);
    if (rdma_bind_addr(made, reinterpret_cast<sockaddr *>(&own)) == 0) return id;
    if (errno == EADDRINUSE)
        throw refusal("rdma wire: another program listens at " + dotted(plan_.ip.v4) + " on port " +
                          std::to_string(port),
                      "stop it, or choose another " + side_of(plan_) + ".port");
    if (errno != ENODEV && errno != EADDRNOTAVAIL) check(false, "binding to " + dotted(plan_.ip.v4));
    refuse_address(plan_, ", or it has no GID for it");
}

verbs_handle<ibv_mr> verbs_device::add_memory(void *first, size_t bytes, int access,
                                              const std::string &what) const {
    verbs_handle<ibv_mr> memory(ibv_reg_mr(domain_.get(), first, bytes, access));
    if (memory) return memory;
    const std::string failed = "rdma wire: " + name_ + ": registering " + std::to_string(bytes) +
                               " bytes of " + what + ": " + std::strerror(errno);
    if (errno != ENOMEM) throw refusal(failed);
    throw refusal(failed + "; the limit of locked memory is " + locked_memory_limit(),
                  "`ulimit -l unlimited` before the run, or memlock in /etc/security/limits.conf, or fewer "
                  "mbufs and a smaller region");
}

completion_queues verbs_device::open_completions(const pair_size &size) const {
    const auto open = [&](uint32_t places) {
        return verbs_handle<ibv_cq>(
            ibv_create_cq(home_->verbs, static_cast<int>(places), nullptr, nullptr, 0));
    };
    return {open(size.receives), open(size.sends)};
}

ibv_qp_init_attr verbs_device::described(const pair_size &size, const completion_queues &queues) const {
    ibv_qp_init_attr made{};
    made.send_cq = queues.sends.get();
    made.recv_cq = queues.receives.get();
    made.cap = {size.sends, size.receives, 1, 1, size.inline_bytes};
    made.qp_type = type_ == rdma_type::ud ? IBV_QPT_UD : IBV_QPT_RC;
    return made;
}

// A device gives as much as is asked for or more; what it says is held against that all the same.
pair_size verbs_device::given(const pair_size &size, const ibv_qp_cap &made) {
    return {std::min(size.receives, made.max_recv_wr), std::min(size.sends, made.max_send_wr),
            std::min(size.inline_bytes, made.max_inline_data)};
}

bool verbs_device::makes(const pair_size &asked, pair_size &got) const {
    const completion_queues queues = open_completions(asked);
    if (!queues.receives || !queues.sends) return false;
    ibv_qp_init_attr of_pair = described(asked, queues);
    const verbs_handle<ibv_qp> made(ibv_create_qp(domain_.get(), &of_pair));
    if (made) got = given(asked, of_pair.cap);
    return made && got.receives > 0 && got.sends > 0;
}

// First as its claims have it, then ever smaller: a queue pair's parts have limits together that no claim
// tells.
pair_size verbs_device::try_size(pair_size asked) const {
    const auto claimed = static_cast<uint32_t>(std::max(1, std::min(claims_.max_qp_wr, claims_.max_cqe)));
    pair_size size = {std::min(asked.receives, claimed), std::min(asked.sends, claimed), 0};
    for (pair_size got{};; size.receives /= 2, size.sends /= 2) {
        for (size.inline_bytes = asked.inline_bytes;; size.inline_bytes /= 2) {
            if (makes(size, got)) return got;
            if (size.inline_bytes == 0) break;
        }
        if (std::min(size.receives, size.sends) < 2 * fewest_posts) break;
    }
    throw refusal("rdma wire: " + name_ + " makes no queue pair of " + std::to_string(asked.receives) +
                      " receives and " + std::to_string(asked.sends) + " sends, nor a smaller one: " +
                      std::strerror(errno) + "; it claims " + std::to_string(claimed) + " of each",
                  "`ibv_devinfo -v -d " + name_ + "` shows its limits; " + side_of(plan_) +
                      ".rx_descriptors and tx_descriptors ask for as many");
}

}  // namespace wt
