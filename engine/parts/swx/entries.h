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

struct action_shape {
    std::string name;
    std::vector<entry_number> arguments;
    bool for_entries, for_default;
};

// What an entry of the table must look like.
struct table_shape {
    std::string name;
    std::vector<key_field> key;
    std::vector<action_shape> actions;
    bool default_is_const;
};

// A selector draws, for each packet, a member of the packet's group.
struct selector_shape {
    std::string name;
    uint32_t groups, members;  // most groups; most members in one
};

struct selector_member {
    uint32_t group, id, weight;
};

struct entry_line {
    std::string file;
    uint32_t number;  // from 1
    std::string text;
    std::string where() const { return file + ":" + std::to_string(number); }
};

// Who is called with what a file holds; `table` and `selector` are indices.
struct entry_takers {
    std::function<void(size_t table, const entry_line &line, bool is_default)> entry;
    std::function<void(size_t selector, const entry_line &line, const selector_member &member)> member;
    std::function<void(const entry_line &line, const std::vector<std::string> &words)> meter;
};

// Reads a tables file, line by line, and the files that it names:
//
//     table routes                       what follows are entries of this table
//     match 0x0a000000/0xff000000 action fwd port 1
//     action drop                        without `match`: what happens to packets that nothing matches
//     table flows from flows.txt         entries of a file of their own, as DPDK's `table add` has them
//     selector hops                      members of groups, or `from FILE`, as DPDK's `member add` has them
//     group 0 member 3 weight 2          the weight is 1 where none is given
//     meter ...                          of no table: profiles of meters, see meters.h
//
// `#`, `;` and `//` begin a comment. Throws refusal that begins with FILE:LINE.
void read_entries(const std::string &file, const std::vector<table_shape> &tables,
                  const std::vector<selector_shape> &selectors, const entry_takers &take);

// Throws refusal that begins with FILE:LINE where the entry does not fit the table: DPDK's own reader says
// only that something is wrong, cuts numbers that are too large, and writes beyond the memory of an action
// that the table does not have.
void check_entry(const table_shape &table, const entry_line &line);

}  // namespace wt
