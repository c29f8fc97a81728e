// The reader of a pipeline's entries: what it takes, and the line and words of what it does not. Starts no
// EAL.
#include <gtest/gtest.h>

#include <fstream>

#include "parts/swx/entries.h"
#include "test_tools.h"

namespace wt::test::swx_entries_test {
namespace {

using match = key_field::match;

std::vector<table_shape> tables() {
    const action_shape forward = {"forward", {{"port", 32}, {"mac", 48}}, true, true},
                       drop = {"drop", {}, true, true}, only_default = {"last", {}, false, true},
                       only_entries = {"first", {}, true, false};
    return {{"routes", {{match::lpm, 32}}, {forward, drop, only_default, only_entries}, false},
            {"rules", {{match::wildcard, 16}, {match::exact, 128}}, {drop}, true},
            {"fixed", {}, {drop}, false}};
}

struct folder : test::temporary_directory {
    std::string write(const std::string &name, const std::string &text) const {
        std::ofstream(*this / name, std::ios::binary) << text;
        return *this / name;
    }
};

// Each entry as TABLE:LINE, with a star where it is a default; or the refusal without the folder.
std::string read(const std::string &text, const std::string &other = "") {
    const folder in;
    in.write("other", other);
    std::string seen;
    try {
        entry_takers take;
        take.entry = [&](size_t table, const entry_line &line, bool is_default) {
            seen += (seen.empty() ? "" : " ") + tables()[table].name + ":" + std::to_string(line.number) +
                    (is_default ? "*" : "");
        };
        take.member = [&](size_t, const entry_line &, const selector_member &member) {
            seen += (seen.empty() ? "" : " ") + std::to_string(member.group) + "/" +
                    std::to_string(member.id) + "x" + std::to_string(member.weight);
        };
        take.meter = [&](const entry_line &, const std::vector<std::string> &words) {
            seen += (seen.empty() ? "" : " ") + words[1];
        };
        read_entries(in.write("t", text), tables(), {{"hops", 4, 8}}, take);
    } catch (const refusal &why) {
        const std::string words = why.what();
        return words.substr(words.rfind('/', words.find(": ")) + 1);
    }
    return seen;
}

TEST(entries, members_of_groups) {
    EXPECT_EQ(read("selector hops\ngroup 0 member 7\ngroup 3 member 0x10 weight 2\n"), "0/7x1 3/16x2");
    EXPECT_EQ(read("selector hops from other\n", "group 1 member 2\n# nothing\ngroup 1 member 3 weight 9"),
              "1/2x1 1/3x9");
    EXPECT_EQ(read("selector hops\ngroup 1 member 1\ntable routes\nmatch 1 action drop\n"), "1/1x1 routes:4");
    EXPECT_EQ(read("selector hop\n"), "t:1: the spec has no selector \"hop\"");
    EXPECT_EQ(read("selector\n"), "t:1: a selector is named by `selector NAME` or `selector NAME from FILE`");
    EXPECT_EQ(read("selector hops\ngroup 4 member 1\n"), "t:2: selector hops has no group 4");
    EXPECT_EQ(read("selector hops\ngroup 1 member 1 weight 0\n"),
              "t:2: a weight of 0: such a member would get no packets");
    for (const char *wrong : {"group 1", "group 1 member", "group 1 member 2 weight", "member 1 group 1",
                              "group 1 member 2 heavy 3", "match 1 action drop"})
        EXPECT_EQ(read(std::string("selector hops\n") + wrong), "t:2: this is no member of a group") << wrong;
    EXPECT_EQ(read("selector hops\ngroup 1 member x\n"), "t:2: \"x\" is not a number");
    for (const char *too_large :
         {"group 4294967296 member 1", "group 0 member 4294967296", "group 0 member 1 weight 4294967296"})
        EXPECT_EQ(read(std::string("selector hops\n") + too_large), "t:2: 4294967296 has more than 32 bits");
    EXPECT_EQ(read("table hops\n"), "t:1: the spec has no table \"hops\"");
}

TEST(entries, lines_of_meters_stand_anywhere) {
    EXPECT_EQ(read("meter profile gold\ntable routes\nmeter police\nmatch 1 action drop\n"),
              "profile police routes:4");
}

TEST(entries, are_read_by_table) {
    EXPECT_EQ(read(""), "");
    EXPECT_EQ(read("# nothing\n\n ; at all\n// here\n"), "");
    EXPECT_EQ(read("table routes\nmatch 0x0a000000/0xff000000 action forward port 1 mac 0x020000000001 # to "
                   "the left\n"
                   "match 5 action drop\naction drop\ntable fixed\naction drop"),
              "routes:2 routes:3 routes:4* fixed:6*");
    EXPECT_EQ(read("table rules\nmatch 1/0xff 0x000102030405060708090a0b0c0d0e0f priority 3 action drop\n"),
              "rules:2");
    EXPECT_EQ(read("table routes from other\n", "match 7/0xffffffff action drop\nmatch 8 action drop\n"),
              "routes:1 routes:2");
}

TEST(entries, that_are_invalid_are_refused_at_their_line) {
    const auto route = [](const std::string &entry) { return read("table routes\n\n" + entry + "\n"); };
    EXPECT_EQ(read("match 1 action drop"), "t:1: an entry before any table");
    EXPECT_EQ(read("table"), "t:1: a table is named by `table NAME` or `table NAME from FILE`");
    EXPECT_EQ(read("table nope"), "t:1: the spec has no table \"nope\"");
    EXPECT_EQ(read("table routes from other\n", "match 1 action drop\nmatch x action drop\n"),
              "other:2: \"x\" is not a number");
    EXPECT_EQ(route("match action drop"), "t:3: the key has 1 fields");
    EXPECT_EQ(route("match 1"), "t:3: `action` is wanted after the key");
    EXPECT_EQ(route("match 1 action"), "t:3: the action's name is missing");
    EXPECT_EQ(route("match 1 action run"), "t:3: table routes has no action \"run\"");
    EXPECT_EQ(route("match 1 action forward port 1"), "t:3: argument mac of forward is missing");
    EXPECT_EQ(route("match 1 action forward port 1 mac"), "t:3: argument mac of forward is missing");
    EXPECT_EQ(route("match 1 action forward mac 1 port 1"), "t:3: argument port of forward is missing");
    EXPECT_EQ(route("match 1 action forward port 0x100000000 mac 1"),
              "t:3: 0x100000000 has more than 32 bits");
    EXPECT_EQ(route("match 1 action drop twice"), "t:3: \"twice\" is too much");
    EXPECT_EQ(route("match -1 action drop"), "t:3: \"-1\" is not a number");
    EXPECT_EQ(route("match 010 action drop"), "t:3: 010 would be read as octal");
    EXPECT_EQ(route("match 0x action drop"), "t:3: \"0x\" is not a number");
    EXPECT_EQ(route("match 99999999999999999999999 action drop"),
              "t:3: 99999999999999999999999 has more than 64 bits");
    EXPECT_EQ(route("match 10.0.0.0/8 action drop"), "t:3: \"10.0.0.0\" is not a number");
    EXPECT_EQ(
        route("match 0x0a000000/8 action drop"),
        "t:3: the mask of a prefix is ones and then zeros; the mask of a prefix of 8 bits is 0xff000000");
    EXPECT_EQ(route("match 0/0xff00ff00 action drop"), "t:3: the mask of a prefix is ones and then zeros");
    EXPECT_EQ(route("match 1 priority 2 action drop"),
              "t:3: a table of prefixes has no priorities: the longest prefix wins");
    EXPECT_EQ(route("match 1 action last"), "t:3: last is for this table's default alone (@defaultonly)");
    EXPECT_EQ(route("action first"), "t:3: first cannot be this table's default (@tableonly)");
    EXPECT_EQ(read("table rules\naction drop"), "t:2: the default of table rules is const in the spec");
    EXPECT_EQ(read("table rules\nmatch 1 0x0102 action drop"), "t:2: 0x0102 has not 32 hexadecimal digits");
    EXPECT_EQ(read("table rules\nmatch 1 2/3 action drop").substr(0, 4), "t:2:");
    EXPECT_EQ(read("table rules\nmatch 1 0x000102030405060708090a0b0c0d0e0f priority 536870911 action drop"),
              "t:2: priority 536870911 is below the lowest, 536870910");
    EXPECT_EQ(read("table fixed\nmatch 1 action drop"),
              "t:2: table fixed has no key: only its default can be set");
    EXPECT_EQ(read(std::string("table fixed\nact\0ion drop", 23)),
              "t:2: a zero byte: this is not a text file");
    std::string long_one = "table routes\nmatch 1 action drop";
    for (int i = 0; i < 300; i++) long_one += " x";
    EXPECT_EQ(read(long_one), "t:2: more than 255 words");
}

TEST(entries, refusals_show_the_syntax) {
    const folder in;
    const std::string wrong = in.write("t", "table routes\nmatch\n");
    EXPECT_EQ(test::remedy_of([&] { read_entries(wrong, tables(), {}, {}); }),
              "an entry of routes: match <32 bits>/<mask> action forward port <32 bits> mac <48 bits> | "
              "drop | last | first");
}

}  // namespace
}  // namespace wt::test::swx_entries_test
