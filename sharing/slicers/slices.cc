#include "slicers/slices.h"

namespace wt {

void slice_keeper::clear() {
    slices.clear();
    gaps.clear();
    own_ns = others_ns = 0;
}

void slice_keeper::set_members(const std::vector<int> &tids, int worker) {
    std::unordered_map<int, open_slice> members;
    for (const int tid : tids) members[tid] = members_.contains(tid) ? members_[tid] : open_slice{};
    members_ = std::move(members);
    worker_ = worker;
    if (!members_.contains(holder_)) holder_ = -1;
}

void slice_keeper::close() {
    if (holder_ < 0) return;
    open_slice &m = members_[holder_];
    if (m.ran_ns) slices.add(m.ran_ns);
    m.ran_ns = 0;
    holder_ = -1;
}

void slice_keeper::count(int tid, uint64_t ran_ns) {
    const auto member = members_.find(tid);
    if (member == members_.end()) {
        if (tid != 0) others_ns += ran_ns;  // 0: the core is idle
        return;
    }
    own_ns += ran_ns;
    if (tid == holder_) member->second.ran_ns += ran_ns;
}

void slice_keeper::settle(uint64_t at_ns) {
    if (on_cpu_ < 0 || at_ns <= came_at_) return;
    count(on_cpu_, at_ns - came_at_);
    came_at_ = at_ns;
}

void slice_keeper::note(int tid, bool came, uint64_t at_ns) {
    if (!came) {
        if (tid == on_cpu_) settle(at_ns);
        if (const auto member = members_.find(tid); member != members_.end()) member->second.left_at = at_ns;
        on_cpu_ = -1;
        return;
    }
    on_cpu_ = tid;
    came_at_ = at_ns;
    const auto member = members_.find(tid);
    if (member == members_.end()) {
        broken_ |= tid != worker_;
        return;
    }
    if (tid != holder_ || broken_) {
        close();
        if (member->second.left_at) gaps.add(at_ns - member->second.left_at);
        holder_ = tid;
    }
    broken_ = false;
}

}  // namespace wt
