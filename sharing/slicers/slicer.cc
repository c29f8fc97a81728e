#include "slicers/slicer.h"

#include <algorithm>

#include "report/histogram_json.h"

namespace wt {

using json = nlohmann::ordered_json;

constexpr uint64_t balance_every_ns = 100'000'000;

slicer::slicer(const slicer_plan &plan) : plan_(plan), watch_(plan.cpu) {
    core_.slice_ns = plan.slice_ns;
    core_.turn_cost_ns = plan.turn_cost_ns;
    core_.shown = core_.used = members_.get();
    began_ns_ = balanced_ns_ = monotonic_ns();
    late_.clear();
    if (plan.how == mechanism::watch) return;
    worker_ = start(&slicer::work);
    while (!core_.worker_tid.load(std::memory_order_acquire) && !failed_.load(std::memory_order_acquire))
        std::this_thread::yield();
    if (kicks_from_afar() && !failed_) timer_ = start(&slicer::keep_time);
    if (!failed_) return;
    close();
    std::rethrow_exception(failure_);
}

slicer::~slicer() { close(); }

void slicer::close() {
    core_.stop = true;
    core_.wake();
    for (std::thread *t : {&timer_, &worker_})
        if (t->joinable()) t->join();
}

bool slicer::kicks_from_afar() const { return plan_.how == mechanism::kick && plan_.from_cpu != plan_.cpu; }

std::thread slicer::start(void (slicer::*loop)()) {
    return std::thread([this, loop] {
        try {
            (this->*loop)();
        } catch (...) {
            if (failing_.test_and_set()) return;
            failure_ = std::current_exception();
            failed_.store(true, std::memory_order_release);
        }
    });
}

void slicer::keep_time() {
    become_slicer(plan_.from_cpu);
    kick_from_afar(core_);
}

void slicer::work() {
    become_slicer(kicks_from_afar() ? plan_.cpu : plan_.from_cpu);
    core_.worker_tid.store(own_tid(), std::memory_order_release);
    switch (plan_.how) {
        case mechanism::watch: break;
        case mechanism::kick: return kicks_from_afar() ? be_kicked(core_) : kick(core_);
        case mechanism::rotate: return rotate(core_);
    }
}

void slicer::set_slice(uint64_t ns) {
    core_.slice_ns = ns;
    core_.wake();
}

void slicer::set_members(roster members) {
    take_records();
    std::vector<int> tids;
    std::vector<seen_member> seen;
    // A remaining member keeps its counters and its credit.
    std::vector<int> was_at;
    for (const member &m : members) {
        tids.push_back(m.tid);
        const auto known = std::find_if(members_->begin(), members_->end(),
                                        [&](const member &k) { return same_thread(k, m); });
        const bool stays = known != members_->end();
        was_at.push_back(stays ? static_cast<int>(known - members_->begin()) : -1);
        if (stays)
            seen.push_back(std::move(seen_[static_cast<size_t>(was_at.back())]));
        else
            seen.push_back({task_times(m.tid, m.started), {}, {}, {}});
        seen_member &s = seen.back();
        const auto now = s.times.read();
        s.told = now.has_value();
        s.at_balance = s.latest = now.value_or(s.latest);
        if (!stays) s.at_begin = s.latest;
    }
    auto next = std::make_unique<const roster>(std::move(members));
    core_.shown.store(next.get(), std::memory_order_release);
    core_.wake();
    if (plan_.how == mechanism::watch) core_.used = next.get();
    while (core_.used.load(std::memory_order_acquire) != next.get() &&
           !failed_.load(std::memory_order_acquire))
        std::this_thread::yield();
    members_ = std::move(next);
    seen_ = std::move(seen);
    balance_.begin(*members_, was_at);
    for (size_t i = 0; i < members_->size(); i++) give_nice(i);
    balanced_ns_ = monotonic_ns();
    keeper_.set_members(tids, core_.worker_tid);
}

void slicer::take_records() {
    watch_.drain([this](int tid, bool came, uint64_t at) { keeper_.note(tid, came, at); });
    core_.late.drain([this](uint32_t ns) { late_.add(ns); });
}

void slicer::balance_now(uint64_t now) {
    std::vector<interval_times> times;
    for (seen_member &s : seen_) {
        s.latest = s.times.read().value_or(s.latest);
        times.push_back(
            {s.latest.on_cpu_ns - s.at_balance.on_cpu_ns, s.latest.waited_ns - s.at_balance.waited_ns});
        s.at_balance = s.latest;
    }
    std::vector<balanced> before = balance_.state();
    balance_.step(*members_, times, now - balanced_ns_);
    for (size_t i = 0; i < seen_.size(); i++)
        if (before[i].nice != balance_.state()[i].nice) give_nice(i);
    balanced_ns_ = now;
}

void slicer::give_nice(size_t which) {
    const member &m = (*members_)[which];
    task(m.tid, m.started).set_nice(balance_.state()[which].nice);
}

void slicer::tend() {
    if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
    take_records();
    const uint64_t now = monotonic_ns();
    if (now - balanced_ns_ >= balance_every_ns) balance_now(now);
}

json slicer::members_json() {
    json all = json::array();
    for (size_t i = 0; i < seen_.size(); i++) {
        seen_member &s = seen_[i];
        s.latest = s.times.read().value_or(s.latest);
        all.push_back({{"tid", (*members_)[i].tid},
                       {"nice", balance_.state()[i].nice},
                       {"ran_ns", s.latest.on_cpu_ns - s.at_begin.on_cpu_ns},
                       {"waited_ns", s.told ? json(s.latest.waited_ns - s.at_begin.waited_ns) : json()},
                       {"slices", s.told ? json(s.latest.times - s.at_begin.times) : json()}});
        s.at_begin = s.latest;
    }
    return all;
}

json slicer::read() {
    const uint64_t now = monotonic_ns(), kicks = core_.kicks;
    take_records();
    keeper_.settle(now);
    const bool watched = watch_.open(), kicked = plan_.how != mechanism::watch;
    json line = {{"type", "figures"},
                 {"interval_ns", now - began_ns_},
                 {"source", watched ? "switches" : "schedstat"},
                 {"why", watched ? json() : json(watch_.why())},
                 {"slice", watched ? histogram_json(keeper_.slices) : json()},
                 {"gap", watched ? histogram_json(keeper_.gaps) : json()},
                 {"kicks", kicks - kicks_at_begin_},
                 {"late", kicked ? histogram_json(late_) : json()},
                 {"own_ns", watched ? json(keeper_.own_ns) : json()},
                 {"others_ns", watched ? json(keeper_.others_ns) : json()},
                 {"lost_records", watch_.take_lost()},
                 {"members", members_json()}};
    keeper_.clear();
    late_.clear();
    kicks_at_begin_ = kicks;
    began_ns_ = now;
    return line;
}

}  // namespace wt
