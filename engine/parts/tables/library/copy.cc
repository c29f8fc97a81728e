#include "parts/tables/library/copy.h"

#include <rte_lcore.h>
#include <rte_malloc.h>

#include <atomic>
#include <numeric>

#include "core/refusal.h"

namespace wt {

namespace {

// Names in EAL are its process's: no two structures may share one.
std::atomic<unsigned> names{0};

}  // namespace

uint64_t heap_bytes() {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < rte_socket_count(); ++i) {
        rte_malloc_socket_stats stats{};
        if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
            bytes += stats.heap_allocsz_bytes;
    }
    return bytes;
}

copy::copy(const wt_table_plan &plan, const wt_method &method, uint32_t deep_blocks) : method_(method) {
    wt_method_plan asked{};
    asked.table = &plan;
    asked.socket = plan.numa_socket < 0 ? SOCKET_ID_ANY : plan.numa_socket;
    asked.deep_blocks = deep_blocks;
    std::snprintf(asked.name, sizeof asked.name, "wt%u", names++);
    char text[256] = "";
    const wt_words words{text, sizeof text};
    shown_.lookup = plan.lookup == WT_SINGLE ? method.single : method.bulk;
    if (plan.entries == WT_POINTED) {
        const uint64_t bytes = plan.capacity * sizeof(wt_entry);
        shown_.entries = static_cast<wt_entry *>(rte_zmalloc_socket(nullptr, bytes, 64, asked.socket));
        if (!shown_.entries)
            throw refusal("EAL's heap has no room for its entries of " + std::to_string(bytes) + " bytes");
        if (plan.lookup == WT_BULK) shown_.lookup = wt_pointed_bulk;
        shown_.bulk = method.bulk;
        free_entries_.resize(plan.capacity);  // taken from the back: in order
        std::iota(free_entries_.rbegin(), free_entries_.rend(), 0u);
    }
    shown_.structure = method.open(&asked, &words);
    if (shown_.structure) return;
    rte_free(shown_.entries);
    throw refusal(text);
}

copy::~copy() {
    method_.close(shown_.structure);
    rte_free(shown_.entries);
}

bool copy::find(const wt_rule &rule, uint32_t *value) const {
    if (!method_.find(shown_.structure, &rule, value)) return false;
    if (shown_.entries) *value = shown_.entries[*value].value;
    return true;
}

int copy::add(const wt_rule &rule, const wt_words *words) {
    if (!shown_.entries) return method_.add(shown_.structure, &rule, words);
    if (free_entries_.empty()) return wt_say(words, "there is no room for another entry");
    wt_rule pointing = rule;
    pointing.value = free_entries_.back();
    if (method_.add(shown_.structure, &pointing, words) != 0) return -1;
    shown_.entries[pointing.value].value = rule.value;
    free_entries_.pop_back();
    return 0;
}

int copy::replace(const wt_rule &rule, const wt_words *words) {
    if (!shown_.entries) return method_.replace(shown_.structure, &rule, words);
    uint32_t entry = 0;
    method_.find(shown_.structure, &rule, &entry);
    shown_.entries[entry].value = rule.value;
    return 0;
}

int copy::remove(const wt_rule &rule, const wt_words *words) {
    uint32_t entry = 0;
    if (shown_.entries) method_.find(shown_.structure, &rule, &entry);
    if (method_.remove(shown_.structure, &rule, words) != 0) return -1;
    if (shown_.entries) free_entries_.push_back(entry);
    return 0;
}

int copy::commit(const wt_words *words) {
    return method_.commit ? method_.commit(shown_.structure, words) : 0;
}

}  // namespace wt
