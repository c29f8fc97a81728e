// Specs: the line of what is wrong with one, as DPDK says it or as it is found by trying. Starts no EAL.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/refusal.h"
#include "parts/swx/blocks.h"
#include "parts/swx/spec.h"
#include "test_tools.h"

namespace wt::test::swx_spec_test {
namespace {

const std::string right =
    "; a comment\n"                   // 1
    "struct eth_t {\n"                // 2
    "\tbit<48> d\n"                   // 3
    "\tbit<48> s\n"                   // 4
    "}\n"                             // 5
    "header e instanceof eth_t\n"     // 6
    "struct meta_t {\n"               // 7
    "\tbit<32> port\n"                // 8
    "}\n"                             // 9
    "metadata instanceof meta_t\n"    // 10
    "action a args none {\n"          // 11
    "\tmov m.port 1\n"                // 12
    "\treturn\n"                      // 13
    "}\n"                             // 14
    "table t {\n"                     // 15
    "\tkey {\n"                       // 16
    "\t\tm.port exact\n"              // 17
    "\t}\n"                           // 18
    "\tactions {\n"                   // 19
    "\t\ta\n"                         // 20
    "\t}\n"                           // 21
    "\tdefault_action a args none\n"  // 22
    "\tsize 100\n"                    // 23
    "}\n"                             // 24
    "apply {\n"                       // 25
    "\trx m.port\n"                   // 26
    "\textract h.e\n"                 // 27
    "\tjmpeq END m.port 3\n"          // 28
    "\ttable t\n"                     // 29
    "\tEND : emit h.e\n"              // 30
    "\ttx m.port\n"                   // 31
    "}\n";                            // 32

std::string with(const std::string &old, const std::string &instead) {
    std::string spec = right;
    return spec.replace(spec.find(old), old.size(), instead);
}

// The line that the refusal names.
std::string line_of(const std::string &spec) {
    const std::string words = test::refusal_of([&] { generate_code("f", spec); });
    return words.empty() ? "right" : words.substr(0, words.find(' '));
}

TEST(spec, that_is_valid_becomes_code) {
    EXPECT_EQ(line_of(right), "right");
    EXPECT_NE(generate_code("f", right).find("pipeline_func_"), std::string::npos);
}

// DPDK writes names into C: with these, some would be statements of it.
TEST(spec, whose_words_are_no_names_or_numbers_is_refused_at_its_line) {
    const auto line_of_word = [](const std::string &old, const std::string &instead) {
        const auto foreign = foreign_word_in(with(old, instead));
        return foreign ? foreign->line : 0;
    };
    EXPECT_FALSE(foreign_word_in(right));
    std::istringstream names(
        "x(void){system(\"id\");} x;y x\\ x\" x' x*/ /*x x,y x=1 x. .x x..y 1x x-y 0x 0xg bit< bit<> bit<x> "
        "{} "
        "\xc3\xa9 \x1b[2J");
    for (std::string name; names >> name;)
        EXPECT_EQ(line_of_word("struct eth_t {", "struct " + name + " {"), 2u) << name;
    EXPECT_EQ(line_of_word("mov m.port 1", "mov m.port 0xFf"), 0u);
    EXPECT_EQ(line_of_word("; a comment", "; \"(){}\" anything"), 0u);
    EXPECT_EQ(line_of_word("; a comment", "; " + std::string(2100, ' ') + "struct"), 1u);
    EXPECT_EQ(line_of_word("a args none {", "a\vargs\fnone\r{ // f()"), 0u);

    const test::temporary_directory directory;
    const std::string file = directory / "x.spec";
    std::ofstream(file) << with("bit<48> s", "bit<48> s;system()");
    const std::string words = test::refusal_of([&] { read_spec(file); });
    EXPECT_TRUE(words.starts_with(file + ":4: \"s;system()\" is no name")) << words;
}

TEST(spec, that_is_invalid_is_refused_at_its_line) {
    EXPECT_EQ(line_of(with("bit<48> d", "bit d")), "f:3:");
    EXPECT_EQ(line_of(with("header e instanceof eth_t", "header e instanceof nope_t")), "f:6:");
    EXPECT_EQ(line_of(with("metadata instanceof meta_t", "metadata instanceof nope_t")), "f:10:");
    EXPECT_EQ(line_of(with("mov m.port 1", "mov m.nope 1")), "f:12:");
    EXPECT_EQ(line_of(with("mov m.port 1", "run m.port 1")), "f:12:");
    EXPECT_EQ(line_of(with("\t\tm.port exact", "\t\tm.port sometimes")), "f:17:");
    EXPECT_EQ(line_of(with("\t\ta\n", "\t\ta\n\t\tnope\n")), "f:21:");
    EXPECT_EQ(line_of(with("extract h.e", "extract h.nope")), "f:27:");
    EXPECT_EQ(line_of(with("rx m.port", "rx m.nope")), "f:26:");
    EXPECT_EQ(line_of(with("tx m.port", "tx m.nope")), "f:31:");
    EXPECT_EQ(line_of(with("jmpeq END", "jmpeq NOWHERE")), "f:28:");
    EXPECT_EQ(line_of(with("table t\n\tEND", "table nope\n\tEND")), "f:29:");
    EXPECT_EQ(line_of(with("END : emit h.e", "END : emit h.nope")), "f:30:");
    EXPECT_EQ(line_of(with("extract h.e", "mirror m.port m.port")), "f:27:");
}

// The search for the line of a fault in a spec of thousands of statements ends: DPDK reads each of its texts.
TEST(spec, that_is_long_is_not_searched_for_ever) {
    const std::string head = right.substr(0, right.find("action")),
                      action = "{\n\tmov m.port 1\n\treturn\n}\n";
    std::string actions, instructions;
    for (size_t i = 0; i < 4000; i++) actions += "action a" + std::to_string(i) + " args none " + action;
    for (size_t i = 0; i < 40000; i++) instructions += "\tmov m.port 1\n";
    const std::string wrong = "apply {\n\trx m.port\n\tmov m.port m.nope\n\ttx m.port\n}\n";
    const std::string long_apply = "apply {\n\trx m.port\n" + instructions + "\ttx m.port\n}\n";
    for (const auto &[spec, line] :
         {std::pair(head + actions + wrong, 0u), std::pair(head + long_apply, 11u)}) {
        size_t bytes = 0, calls = 0;
        const auto at = stumbling_line(spec, [&](const std::string &text) {
            bytes += text.size();
            calls++;
            return text.find("nope") == std::string::npos && text.size() < instructions.size();
        });
        EXPECT_EQ(at, line);
        EXPECT_LT(bytes, 34u << 20) << calls;
        EXPECT_LT(calls, 20000u);
    }
}

TEST(spec, without_an_apply_or_empty_is_refused) {
    EXPECT_EQ(line_of(right.substr(0, right.find("apply"))).substr(0, 2), "f:");
    EXPECT_EQ(line_of(" ").substr(0, 2), "f:");
    EXPECT_EQ(line_of("}{\n}}}}\n").substr(0, 2), "f:");
}

// Any spec with a line left out, doubled or cut is taken or refused, and never more than that.
TEST(spec, with_a_line_changed_is_accepted_or_refused) {
    std::vector<std::string> lines;
    for (size_t at = 0; at < right.size(); at = right.find('\n', at) + 1)
        lines.push_back(right.substr(at, right.find('\n', at) + 1 - at));
    for (size_t i = 0; i < lines.size(); i++)
        for (const std::string &instead :
             {std::string(), lines[i] + lines[i], lines[i].substr(0, lines[i].size() / 2) + "\n"}) {
            std::string spec;
            for (size_t j = 0; j < lines.size(); j++) spec += j == i ? instead : lines[j];
            const std::string said = line_of(spec);
            EXPECT_TRUE(said == "right" || said.starts_with("f:")) << said;
        }
}

TEST(sizes, of_tables_are_summed) {
    EXPECT_EQ(sizes_in(right), 100u);
    EXPECT_EQ(sizes_in(with("\tsize 100\n", "")), 65536u);
    EXPECT_EQ(sizes_in("apply {\n}\n"), 0u);
}

}  // namespace
}  // namespace wt::test::swx_spec_test
