// Drives the reader of a pipeline's entries, and the statements of a spec, with hostile text. What is taken
// must be what DPDK's own reader may be shown: as many words as the table's form has, numbers that fit.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>

#include "core/refusal.h"
#include "parts/swx/blocks.h"
#include "parts/swx/entries.h"
#include "tests/fuzz/require.h"

namespace {

using namespace wt;
using match = key_field::match;

const std::vector<table_shape> &tables() {
    static const std::vector<table_shape> all = {
        {"routes",
         {{match::lpm, 32}},
         {{"forward", {{"port", 32}}, true, true}, {"drop", {}, true, true}},
         false},
        {"rules", {{match::wildcard, 16}, {match::exact, 128}}, {{"drop", {}, true, true}}, true}};
    return all;
}

void check_taken(size_t table, const entry_line &line) {
    std::istringstream in(line.text);
    size_t words = 0;
    for (std::string word; in >> word && word[0] != '#' && word[0] != ';' && !word.starts_with("//");)
        words++;
    require(table < tables().size() && words >= 2 && words <= 255,
            "an entry of a table there is, of words that DPDK reads");
}

// What comes into generated C has none of its signs.
void check_words(const std::string &text, bool refused) {
    std::istringstream in(text);
    for (std::string line; !refused && std::getline(in, line);) {
        std::istringstream words(line);
        for (std::string word; words >> word && word[0] != '#' && word[0] != ';' && !word.starts_with("//");)
            require(word.find_first_of("\"'\\();,=*&/#%!?[]+-|^~$@`") == std::string::npos,
                    "a word of a spec that is taken is a name, a number, a type or a sign");
    }
}

// One file for all inputs, removed at the end.
struct input_file {
    std::string name = "entries-fuzz-" + std::to_string(getpid());
    ~input_file() { unlink(name.c_str()); }
    const std::string &holding(const uint8_t *data, size_t size) const {
        FILE *out = std::fopen(name.c_str(), "wb");
        require(out && std::fwrite(data, 1, size, out) == size && std::fclose(out) == 0,
                "the input can be written");
        return name;
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string text(reinterpret_cast<const char *>(data), size);
    check_words(text, foreign_word_in(text).has_value());
    (void)first_use(text, "mirror");
    (void)sizes_in(text);
    (void)stumbling_line(text, [](const std::string &spec) { return spec.size() % 3 != 0; });
    static const input_file file;
    try {
        entry_takers take;
        take.entry = [](size_t table, const entry_line &line, bool) { check_taken(table, line); };
        take.member = [](size_t selector, const entry_line &, const selector_member &member) {
            require(selector == 0 && member.group < 4 && member.weight > 0, "a member of a group there is");
        };
        take.meter = [](const entry_line &, const std::vector<std::string> &) {};
        read_entries(file.holding(data, size), tables(), {{"hops", 4, 8}}, take);
    } catch (const refusal &why) {
        require(std::string(why.what()).find(": ") != std::string::npos, "a refusal names its place");
    }
    return 0;
}
