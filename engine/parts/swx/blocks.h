// The statements of a spec by line: enough of its grammar to say which one DPDK will not have. Needs no DPDK.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace wt {

// Whether a comment begins at this word, which is not empty.
bool is_comment(const std::string &word);

struct foreign_word {
    uint32_t line;
    std::string word;
};

// The first word outside comments that is no name (parts of letters, digits and `_`, with points between), no
// number, no bit<N> and no sign of the grammar. DPDK writes names into the C code that it generates, whatever
// is in them. A line that is longer than DPDK reads at once counts as one: its rest would be read as a line
// of its own, be it in a comment.
std::optional<foreign_word> foreign_word_in(const std::string &spec);

// The first line that holds this instruction, counted from 1.
std::optional<uint32_t> first_use(const std::string &spec, const std::string &instruction);

// The sum of what the spec's tables, selectors and learners give as their sizes; where one gives none, what
// DPDK takes.
uint64_t sizes_in(const std::string &spec);

// DPDK names no line where a spec is well formed but means nothing: a field that is not there, an action of
// another signature. Tries the statements one after the other, and in an action or in `apply` the
// instructions by themselves. `accepts` is DPDK's word on a text. Returns 0 where the fault lies in no
// statement alone, or where it would take too long to find: then it is the line of its action, or 0.
uint32_t stumbling_line(const std::string &spec, const std::function<bool(const std::string &)> &accepts);

}  // namespace wt
