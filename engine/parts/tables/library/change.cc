// Changes a table while it is read: first the copy without readers, then one store. See table.h.
#include <sched.h>

#include <cstring>

#include "core/refusal.h"
#include "parts/tables/library/rules.h"
#include "parts/tables/library/table.h"
#include "parts/tables/library/table_parts.h"

namespace wt {

kept_change::kept_change(const wt_change &change, uint32_t key_bytes)
    : kind(change.kind),
      length(change.rule.length),
      priority(change.rule.priority),
      value(change.rule.value),
      key{},
      mask{},
      has_mask(change.rule.mask != nullptr) {
    std::memcpy(key.data(), change.rule.key, key_bytes);
    if (has_mask) std::memcpy(mask.data(), change.rule.mask, key_bytes);
}

wt_rule kept_change::rule() const {
    return {key.data(), has_mask ? mask.data() : nullptr, length, priority, value};
}

namespace {

int apply(copy &changed, const kept_change &change, const wt_words *words) {
    switch (change.kind) {
        case WT_ADD: return changed.add(change.rule(), words);
        case WT_REMOVE: return changed.remove(change.rule(), words);
        default: return changed.replace(change.rule(), words);
    }
}

// What takes a change back; `old` is the value before it.
kept_change inverse(const kept_change &change, uint32_t old) {
    kept_change back = change;
    back.kind = change.kind == WT_ADD ? WT_REMOVE : change.kind == WT_REMOVE ? WT_ADD : WT_REPLACE;
    back.value = old;
    return back;
}

// A batch on its way into one copy. Unless it is kept, it takes back what it did.
class batch {
  public:
    batch(wt_table &table, copy &changed) : table_(table), changed_(changed) {}
    ~batch() {
        char text[256];
        const wt_words words{text, sizeof text};
        for (auto back = back_.rbegin(); back != back_.rend(); ++back)
            if (apply(changed_, *back, &words) != 0) table_.broken = true;
    }
    batch(const batch &) = delete;
    batch &operator=(const batch &) = delete;

    int make(const kept_change &change, const wt_words *words) {
        const wt_rule rule = change.rule();
        uint32_t old = 0;
        const bool there = changed_.find(rule, &old);
        if (change.kind == WT_ADD && there) return wt_say(words, "the rule is there already");
        if (change.kind != WT_ADD && !there) return wt_say(words, "there is no such rule");
        if (change.kind == WT_ADD &&
            table_.state.rules + static_cast<uint64_t>(more_) >= table_.plan.capacity)
            return wt_say(words, "the table is full: its capacity is %llu rules",
                          static_cast<unsigned long long>(table_.plan.capacity));
        if (apply(changed_, change, words) != 0) return -1;
        more_ += change.kind == WT_ADD ? 1 : change.kind == WT_REMOVE ? -1 : 0;
        back_.push_back(inverse(change, old));
        return 0;
    }

    void keep() {
        table_.state.rules += static_cast<uint64_t>(more_);
        back_.clear();
    }

  private:
    wt_table &table_;
    copy &changed_;
    std::vector<kept_change> back_;
    int64_t more_ = 0;  // rules than before
};

int check(const wt_table &table, const wt_change &change, const wt_words *words) {
    const wt_method &method = *table.method;
    const wt_rule &rule = change.rule;
    if (change.kind < WT_ADD || change.kind > WT_REPLACE)
        return wt_say(words, "kind %u of a change is none", change.kind);
    if (wt_rule_check(table.plan.kind, table.plan.key_bytes, &rule, words->text, words->size) != 0) return -1;
    if (rule.length < method.shortest_prefix)
        return wt_say(words, "rte_lpm has no prefix of 0 bits: take method fib");
    if (change.kind != WT_REMOVE && rule.value > method.most_value)
        return wt_say(words, "value %u is more than the %u that method %s can hold", rule.value,
                      method.most_value, method.name);
    return 0;
}

// Since the last store no reader enters this copy. A reader inside leaves at the end of its burst. A worker
// that is inside may be waiting for this very core: it is left to it.
void wait_for_readers(wt_table &table) {
    while (rte_rcu_qsbr_check(table.bursts.get(), table.left, false) == 0) sched_yield();
}

// The copy without readers, with the same rules as the other.
copy *bring_up(wt_table &table, const wt_words *words) {
    copy &spare = *table.copies[1 - table.read];
    if (table.state.commits > 0) wait_for_readers(table);
    for (const kept_change &change : table.lacking)
        if (apply(spare, change, words) != 0) {
            table.broken = true;
            return nullptr;
        }
    table.lacking.clear();
    return &spare;
}

void show(wt_table &table, std::vector<kept_change> &&made) {
    table.read = 1 - table.read;
    __atomic_store_n(&table.shown, table.copies[table.read]->shown(), __ATOMIC_SEQ_CST);
    rte_atomic_thread_fence(__ATOMIC_SEQ_CST);  // the store before the look at who is inside
    table.left = rte_rcu_qsbr_start(table.bursts.get());
    table.state.changes += made.size();
    ++table.state.commits;
    table.lacking = std::move(made);
}

int change_table(wt_table &table, const wt_change *changes, uint32_t count, const wt_words *words) {
    copy *spare = bring_up(table, words);
    if (!spare) return -1;
    std::vector<kept_change> made;
    made.reserve(count);
    batch all(table, *spare);
    for (uint32_t i = 0; i < count; ++i) {
        if (check(table, changes[i], words) != 0) return -1;
        made.emplace_back(changes[i], table.plan.key_bytes);
        if (all.make(made.back(), words) != 0) return -1;
    }
    const uint64_t before = heap_bytes();
    if (spare->commit(words) != 0) return -1;
    table.state.bytes += heap_bytes() - before;
    all.keep();
    show(table, std::move(made));
    return 0;
}

}  // namespace

}  // namespace wt

int wt_table_change(wt_table *table, const wt_change *changes, uint32_t count, char *error,
                    size_t error_size) {
    char text[256] = "";
    const wt_words inner{text, sizeof text}, words{error, error_size};
    int failed = -1;
    if (table->plan.access == WT_POINTER)
        wt_say(&inner, "it is read through a pointer and cannot change: open it with access rcu");
    else if (table->broken)
        wt_say(&inner, "an earlier change could not be taken back: it changes no more");
    else
        failed = wt::change_table(*table, changes, count, &inner);
    return failed ? wt_say(&words, "table %s: %s", table->name.c_str(), text) : 0;
}
