// The plan's words as the library of tables has them, and as the data path does.
#pragma once

#include "parts/tables/match_action.h"
#include "plan/types.h"

namespace wt {

template <typename Word>
constexpr uint32_t from(uint32_t first, Word word) {
    return first + static_cast<uint32_t>(word);
}

constexpr uint32_t in_library(table_kind k) { return from(WT_EXACT, k); }
constexpr uint32_t in_library(table_method m) { return from(WT_HASH, m); }
constexpr uint32_t in_library(table_lookup l) { return from(WT_BULK, l); }
constexpr uint32_t in_library(table_access a) { return from(WT_POINTER, a); }
constexpr uint32_t in_library(table_entry e) { return from(WT_INLINE, e); }
constexpr uint32_t in_library(table_prefixes p) {
    return p == table_prefixes::mixed ? WT_PREFIXES_MIXED : WT_PREFIXES_24;
}
constexpr uint32_t in_library(popularity p) { return from(WT_UNIFORM, p); }
constexpr uint32_t in_library(table_action a) { return from(MA_FORWARD, a); }

static_assert(in_library(table_kind::lpm) == WT_LPM && in_library(table_kind::ternary) == WT_TERNARY);
static_assert(in_library(table_method::fib) == WT_FIB && in_library(table_method::lpm) == WT_LPM_LIST &&
              in_library(table_method::acl) == WT_ACL && in_library(table_method::linear) == WT_LINEAR &&
              in_library(table_method::tss) == WT_TSS);
static_assert(in_library(table_lookup::single) == WT_SINGLE && in_library(table_access::rcu) == WT_RCU &&
              in_library(table_entry::pointed) == WT_POINTED && in_library(popularity::zipf) == WT_ZIPF);
static_assert(in_library(table_action::rewrite) == MA_REWRITE &&
              in_library(table_action::count) == MA_COUNT && in_library(table_action::meter) == MA_METER &&
              in_library(table_action::drop) == MA_DROP);
static_assert(max_key_bytes <= WT_KEY_MOST);

inline ma_key in_library(const key_plan &key) {
    static_assert(from(MA_L3, key_place::l4) == MA_L4 && from(MA_L3, key_place::body) == MA_BODY);
    ma_key made{};
    for (const key_field_plan &f : key.fields)
        made.fields[made.field_count++] = {static_cast<uint8_t>(f.place), static_cast<uint8_t>(f.bytes),
                                           f.offset};
    made.bytes = key.bytes;
    made.segments = key.segments;
    return made;
}

}  // namespace wt
