// The entries of a pipeline's tables as text: what stands in a file, and whether it fits the table. Needs no
// DPDK.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wt {

struct entry_number {
    std::string name;  // of an action's argument; empty for a field of a key
    uint32_t bits;
};

struct key_field {
    enum class match { exact, lpm, wildcard };
    match how;
    uint32_t bits;
};

struct table_action {
    std::string name;
    std::vector<entry_number> arguments;
    bool for_entries, for_default;
};

// What an entry of the table must look like.
struct table_shape {
    std::string name;
    std::vector<key_field> key;
    std::vector<table_action> actions;
    bool default_is_const;
};

struct entry_line {
    std::string file;
    uint32_t number;  // from 1
    std::string text;
    std::string where() const { return file + ":" + std::to_string(number); }
};

// Reads a tables file, line by line, and the files that it names:
//
//     table routes                       what follows are entries of this table
//     match 0x0a000000/0xff000000 action fwd port 1
//     action drop                        without `match`: what happens to packets that nothing matches
//     table flows from flows.txt         entries of a file of their own, as DPDK's `table add` has them
//
// `#`, `;` and `//` begin a comment. Calls `entry` with each entry and the index of its table in `tables`.
// Throws refusal that begins with FILE:LINE.
void read_entries(const std::string &file, const std::vector<table_shape> &tables,
                  const std::function<void(size_t table, const entry_line &line, bool is_default)> &entry);

// Throws refusal that begins with FILE:LINE where the entry does not fit the table: DPDK's own reader says
// only that something is wrong, cuts numbers that are too large, and writes beyond the memory of an action
// that the table does not have.
void check_entry(const table_shape &table, const entry_line &line);

}  // namespace wt
