#include "parts/swx/blocks.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <vector>

namespace wt {

namespace {

struct line {
    uint32_t number;  // in the file, from 1
    std::string text;
    std::vector<std::string> words;
};

// A statement of the outermost level: one line, or those from its `{` to its `}`.
struct block {
    std::vector<line> lines;
    const std::string &kind() const { return lines.front().words.front(); }
    bool is_braced() const { return lines.size() > 1; }
};

constexpr size_t most_line_bytes = 2000;  // of MAX_LINE_LENGTH in DPDK's rte_swx_pipeline_spec.c, 2048

constexpr size_t most_shown = 40;  // bytes of what is foreign

constexpr size_t most_tried_bytes = 32 << 20;  // some seconds of DPDK's work: a long spec would take hours

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool is_name(std::string_view word) {
    bool begins = true;  // a part, which has a letter first
    for (const char c : word) {
        if (begins ? !is_letter(c) : !is_letter(c) && !is_digit(c) && c != '.') return false;
        begins = c == '.';
    }
    return !begins;
}

bool is_number(std::string_view word) {
    const bool hex = word.starts_with("0x") || word.starts_with("0X");
    if (hex) word.remove_prefix(2);
    return !word.empty() && std::ranges::all_of(word, hex ? is_hex_digit : is_digit);
}

bool is_type(std::string_view word) {
    for (const std::string_view kind : {"bit<", "varbit<"})
        if (word.starts_with(kind) && word.ends_with('>'))
            return is_number(word.substr(kind.size(), word.size() - kind.size() - 1));
    return false;
}

bool is_sign(std::string_view word) { return word == "{" || word == "}" || word == ":"; }

std::vector<line> lines_of(const std::string &spec) {
    std::vector<line> all;
    std::istringstream in(spec);
    std::string text;
    for (uint32_t number = 1; std::getline(in, text); number++) {
        line l{number, text + "\n", {}};
        std::istringstream words(text);
        for (std::string word; words >> word && !is_comment(word);) l.words.push_back(word);
        if (!l.words.empty()) all.push_back(std::move(l));
    }
    return all;
}

std::vector<block> blocks_of(const std::string &spec) {
    std::vector<block> all;
    int depth = 0;
    for (line &l : lines_of(spec)) {
        const bool opens = l.words.back() == "{", closes = l.words.front() == "}";
        if (depth == 0) all.emplace_back();
        all.back().lines.push_back(std::move(l));
        depth = std::max(0, depth + opens - closes);
    }
    return all;
}

bool holds_entries(const block &b) {
    return b.kind() == "table" || b.kind() == "selector" || b.kind() == "learner";
}

std::string text_of(const block &b) {
    std::string text;
    for (const line &l : b.lines) text += l.text;
    return text;
}

bool is_labelled(const line &l) { return l.words.size() > 2 && l.words[1] == ":"; }

const std::string &instruction_of(const line &l) { return is_labelled(l) ? l.words[2] : l.words[0]; }

// The block with the instruction at `at` alone, between what every such block must have. Labels stay, or no
// jump could be tried.
std::string alone(const block &b, size_t at, const std::string &first, const std::string &last) {
    const std::string &one = instruction_of(b.lines[at]);
    std::string text = b.lines.front().text;
    if (!first.empty() && one != "rx") text += first + "\n";
    text += b.lines[at].text;
    for (size_t i = 1; i + 1 < b.lines.size(); i++)
        if (i != at && is_labelled(b.lines[i])) text += b.lines[i].words[0] + " : " + last + "\n";
    return text + (one == "tx" ? "" : last + "\n") + "}\n";
}

std::string without(const block &b, size_t at) {
    std::string text;
    for (size_t i = 0; i < b.lines.size(); i++)
        if (i != at) text += b.lines[i].text;
    return text;
}

class search {
  public:
    search(const std::string &spec, const std::function<bool(const std::string &)> &accepts)
        : blocks_(blocks_of(spec)), accepts_(accepts) {}

    uint32_t stumble() {
        if (const uint32_t at = in_declarations()) return at;
        if (const uint32_t at = in_metadata()) return at;
        if (const uint32_t at = in_actions()) return at;
        if (const uint32_t at = in_tables()) return at;
        return in_apply();
    }

  private:
    static constexpr const char *late[] = {"action", "table", "selector", "learner", "apply", "metadata"};

    static bool is_late(const block &b) { return std::ranges::find(late, b.kind()) != std::end(late); }

    bool is_over() const { return tried_ > most_tried_bytes; }

    // Whether what was found right so far is still accepted with `more`. Once the search is over, everything
    // is: the line is then that of a block, or not known.
    bool accepted_with(const std::string &more) {
        if (is_over()) return true;
        const std::string text = good_ + more + least_;
        tried_ += text.size();
        return accepts_(text);
    }

    // Structures, headers, arrays: with metadata of our own.
    uint32_t in_declarations() {
        good_.clear();
        least_ =
            "struct wt_least {\nbit<32> port\n}\nmetadata instanceof wt_least\napply {\nrx m.port\ntx "
            "m.port\n}\n";
        for (const block &b : blocks_) {
            if (is_late(b)) continue;
            if (!accepted_with(text_of(b))) return b.lines.front().number;
            good_ += text_of(b);
        }
        return 0;
    }

    uint32_t in_metadata() {
        for (const block &b : blocks_) {
            if (b.kind() != "metadata") continue;
            const std::string field = first_field_of(b.lines.front().words.back());
            first_ = "rx m." + field;
            last_ = "tx m." + field;
            least_ = "apply {\n" + first_ + "\n" + last_ + "\n}\n";
            if (!accepted_with(text_of(b))) return b.lines.front().number;
            good_ += text_of(b);
        }
        return 0;
    }

    std::string first_field_of(const std::string &structure) const {
        for (const block &b : blocks_)
            if (b.kind() == "struct" && b.is_braced() && b.lines[0].words.size() > 1 &&
                b.lines[0].words[1] == structure)
                return b.lines[1].words.back();
        return "";
    }

    uint32_t in_actions() {
        for (const block &b : blocks_) {
            if (b.kind() != "action") continue;
            if (!accepted_with(text_of(b))) return in_instructions(b, "", "return");
            good_ += text_of(b);
        }
        return 0;
    }

    uint32_t in_instructions(const block &b, const std::string &first, const std::string &last) {
        for (size_t i = 1; i + 1 < b.lines.size() && !is_over(); i++) {
            tried_ += b.lines.size();  // all of them are looked at for each
            if (!accepted_with(alone(b, i, first, last))) return b.lines[i].number;
        }
        return b.lines.front().number;
    }

    // A line without which the table would do is the one at fault.
    uint32_t in_tables() {
        for (const block &b : blocks_) {
            if (!holds_entries(b)) continue;
            if (!accepted_with(text_of(b))) {
                for (size_t i = 1; i + 1 < b.lines.size() && !is_over(); i++)
                    if (accepted_with(without(b, i))) return b.lines[i].number;
                return b.lines.front().number;
            }
            good_ += text_of(b);
        }
        return 0;
    }

    uint32_t in_apply() {
        least_.clear();
        for (const block &b : blocks_)
            if (b.kind() == "apply" && !accepted_with(text_of(b))) return in_instructions(b, first_, last_);
        return 0;
    }

    const std::vector<block> blocks_;
    const std::function<bool(const std::string &)> &accepts_;
    std::string good_, least_, first_, last_;
    size_t tried_ = 0;
};

}  // namespace

bool is_comment(const std::string &word) {
    return word[0] == '#' || word[0] == ';' || word.starts_with("//");
}

std::optional<foreign_word> foreign_word_in(const std::string &spec) {
    std::istringstream in(spec);
    std::string text;
    for (uint32_t number = 1; std::getline(in, text); number++) {
        if (text.size() > most_line_bytes) return foreign_word{number, text.substr(0, most_shown)};
        std::istringstream words(text);
        for (std::string word; words >> word && !is_comment(word);)
            if (!is_name(word) && !is_number(word) && !is_type(word) && !is_sign(word))
                return foreign_word{number, word.substr(0, most_shown)};
    }
    return {};
}

std::optional<uint32_t> first_use(const std::string &spec, const std::string &instruction) {
    for (const line &l : lines_of(spec))
        if (instruction_of(l) == instruction) return l.number;
    return std::nullopt;
}

uint64_t sizes_in(const std::string &spec) {
    constexpr uint64_t without = 1 << 16;
    uint64_t sum = 0;
    for (const block &b : blocks_of(spec)) {
        if (!holds_entries(b)) continue;
        uint64_t size = without;
        for (const line &l : b.lines)
            if (l.words.size() == 2 && l.words[0] == "size")
                size = std::strtoull(l.words[1].c_str(), nullptr, 0);
        sum += size;
    }
    return sum;
}

uint32_t stumbling_line(const std::string &spec, const std::function<bool(const std::string &)> &accepts) {
    return search(spec, accepts).stumble();
}

}  // namespace wt
