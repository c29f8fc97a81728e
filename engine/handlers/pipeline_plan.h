// The pipeline of `match_action` as windtunnel.scenario hands it over: the mirror of src/windtunnel/engine/pipeline.py.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/match_action.h"

namespace wt {

struct meter_plan {
    uint64_t committed, peak, burst;  // bytes a second, bytes a second, bytes
};

struct table_plan {
    std::string name;
    bool egress;
    uint32_t kind, method;      // enum wt_table_kind, wt_table_method_id
    ma_key key;
    uint64_t rules;             // that are generated; 0: they stand in `file`
    std::string file;
    uint32_t prefixes, masks;   // of generated rules
    double load;
    uint32_t lookup, access, entries;  // enum wt_table_lookup_mode, wt_table_access, wt_table_entries
    bool per_core;
    uint32_t action;            // enum ma_action
    std::optional<meter_plan> meter;
    bool miss_drops;
    uint64_t changes_per_s;
    uint64_t seed;
    bool steered;               // whoever makes the traffic draws its key
    double hit;
    uint32_t popularity;        // enum wt_popularity
    double exponent;
    uint32_t expected;          // offset in the body
};

enum class traffic : uint8_t { none, frames, requests };

struct pipeline_plan {
    enum traffic traffic;
    uint32_t body_offset, body_bytes;
    bool inner;
    std::optional<int> change_cpu;  // where entries are changed; null: wherever the kernel puts the thread
    std::vector<table_plan> tables;
};

// Throws refusal: no JSON, a key too many or too few, a value that cannot be.
pipeline_plan read_pipeline(std::string_view text);

}  // namespace wt
