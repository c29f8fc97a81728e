// Copiers of a user's own: what is refused before they are opened, what they may do, and that nothing is
// believed of what they say.
#include <cstdlib>
#include <filesystem>

#include "copying_rig.h"
#include "parts/copies/accounts.h"
#include "parts/copies/copiers/costs.h"
#include "parts/copies/copiers/plugin.h"
#include "parts/copies/copiers/registry.h"
#include "test_tools.h"

namespace wt::test::own_copier_test {
namespace {

const needs_eal eal(128, 2);

std::string plugin(const std::string &name) {
    const char *directory = std::getenv("WT_TEST_PLUGINS");
    return std::string(directory ? directory : ".") + "/" + name + ".so";
}

// What loading says, after "copier .../own_copier_NAME.so".
std::string loading(const std::string &name) {
    const std::string path = plugin("own_copier_" + name), who = "copier " + path;
    const std::string said = refusal_of([&] { load_copier(path); });
    EXPECT_TRUE(said.starts_with(who)) << said;
    return said.substr(std::min(who.size(), said.size()));
}

copier_end end_of(std::map<std::string, std::string> options, uint32_t depth = 64) {
    return {.application = 3,
            .depth = depth,
            .options = std::move(options),
            .lcores = {},
            .seed = 1,
            .ticks_per_ns = 1};
}

// Closes at the end of its room.
struct opened {
    copy_channel channel;
    explicit opened(const std::string &fault, const std::string &name = "own_copier")
        : channel(open_copier(plugin(name), end_of({{"fault", fault}}))) {}
    ~opened() { channel.close(channel.state); }

    uint32_t submit(const std::vector<copy_piece> &pieces) {
        return channel.submit(channel.state, pieces.data(), static_cast<uint32_t>(pieces.size()));
    }
    uint32_t completed(uint32_t most) { return channel.completed(channel.state, ends.data(), most); }
    std::string breach() { return channel.breach(channel.state); }

    std::vector<copy_end> ends = std::vector<copy_end>(64, copy_end::failed);
};

struct three_copies {
    uint8_t from[3][8] = {"one", "two", "three"}, to[3][8] = {};
    std::vector<copy_piece> pieces;
    three_copies() {
        for (int i = 0; i < 3; i++) pieces.push_back({to[i], from[i], 8, 0});
    }
    bool made() const { return std::memcmp(from, to, sizeof to) == 0; }
};

TEST(own_copier, is_refused_for_an_invalid_file) {
    EXPECT_EQ(loading("absent"), ": no such file");
    EXPECT_EQ(loading("other_abi"), " was built for copier ABI 9, this engine has 1");
    EXPECT_EQ(loading("wrong_size"),
              ": its table says it has 8 bytes, this engine's has " + std::to_string(sizeof(wt_copier)));
    const std::string handler = refusal_of([] { load_copier(plugin("good")); });
    EXPECT_TRUE(handler.ends_with(": it has no symbol `wt_copier`")) << handler;
}

TEST(own_copier, is_refused_for_an_invalid_table) {
    EXPECT_EQ(loading("no_name"), ": the copier has no name");
    EXPECT_EQ(loading("no_help"), ": the copier has no help");
    EXPECT_EQ(loading("no_kind"), ": kind 3 is neither WT_COPIER_CORE nor WT_COPIER_HARDWARE");
    EXPECT_EQ(loading("no_depth"), ": its `most_depth` is 0: it would take no copy");
    EXPECT_EQ(loading("no_open"), ": the hook `open` is missing");
    EXPECT_EQ(loading("no_submit"), ": the hook `submit` is missing");
    EXPECT_EQ(loading("bad_option"), ": option colour = \"green\" is none of red, blue");
}

TEST(own_copier, refuses_with_its_own_words_and_is_asked_for_no_more_than_it_takes) {
    const std::string path = plugin("own_copier_refuses"), good = plugin("own_copier");
    EXPECT_EQ(refusal_of([&] { open_copier(path, end_of({})); }),
              path + ": application 3 wants 64 copies at once, and there is no licence");
    EXPECT_EQ(refusal_of([&] { open_copier(good, end_of({}, 65)); }),
              good + ": 65 copies at once, it takes at most 64");
    EXPECT_EQ(refusal_of([&] { open_copier(good, end_of({{"faults", "none"}})); }),
              good + " has no option 'faults'; it has fault");
}

TEST(own_copier, ends_copies_later_in_their_order) {
    opened own("none");
    three_copies three;
    EXPECT_FALSE(own.channel.immediate);
    EXPECT_EQ(own.channel.device, "own");
    EXPECT_EQ(own.submit(three.pieces), 3u);
    EXPECT_FALSE(three.made());
    EXPECT_EQ(own.completed(2), 2u);
    EXPECT_EQ(own.completed(2), 1u);
    EXPECT_EQ(own.completed(2), 0u);
    EXPECT_EQ(std::ranges::count(own.ends, copy_end::well), 2);
    EXPECT_TRUE(three.made());
    EXPECT_EQ(own.breach(), "");
}

TEST(own_copier, without_completed_has_ended_what_it_took) {
    opened own("none", "own_copier_at_once");
    three_copies three;
    EXPECT_TRUE(own.channel.immediate);
    EXPECT_EQ(own.completed(64), 0u);
    EXPECT_EQ(own.submit(three.pieces), 3u);
    EXPECT_TRUE(three.made());
    EXPECT_EQ(own.completed(2), 2u);
    EXPECT_EQ(own.completed(64), 1u);
    EXPECT_EQ(std::ranges::count(own.ends, copy_end::well), 2);
}

TEST(own_copier, that_takes_too_many_is_not_called_again) {
    opened own("takes_too_many");
    three_copies three;
    EXPECT_EQ(own.submit(three.pieces), 3u) << "it may run any of them";
    EXPECT_EQ(own.breach(), "`submit` took more copies than there were: 4, and 3 is the most");
    EXPECT_EQ(own.submit(three.pieces), 0u);
    EXPECT_EQ(own.completed(64), 0u) << "none of them ends";
    EXPECT_FALSE(three.made());
}

TEST(own_copier, that_takes_too_many_at_once_has_taken_none) {
    opened own("takes_too_many", "own_copier_at_once");
    three_copies three;
    EXPECT_EQ(own.submit(three.pieces), 0u) << "the CPU makes all of them";
    EXPECT_EQ(own.breach(), "`submit` took more copies than there were: 4, and 3 is the most");
    EXPECT_EQ(own.completed(64), 0u);
}

TEST(own_copier, that_reports_too_many_or_an_unknown_end_is_not_called_again) {
    for (const auto &[fault, words] :
         {std::pair{"ends_too_many",
                    "`completed` reported more copies than could have ended: 65, and 3 is the most"},
          {"unknown_end", "`completed` wrote an end that is none: 7, and 1 is the most"}}) {
        opened own(fault);
        three_copies three;
        own.submit(three.pieces);
        EXPECT_EQ(own.completed(64), 0u);
        EXPECT_EQ(own.breach(), words);
        EXPECT_EQ(own.completed(1), 0u);
        EXPECT_EQ(own.submit(three.pieces), 0u);
    }
}

TEST(own_copier, cannot_report_what_it_never_took) {
    opened own("ends_too_many");
    EXPECT_EQ(own.completed(1), 0u);
    EXPECT_EQ(own.breach(), "`completed` reported more copies than could have ended: 2, and 0 is the most");
}

json with(const char *fault, const char *name = "own_copier") {
    return {{"engine", plugin(name)}, {"options", {{"fault", fault}}}};
}

TEST(own_copier, moves_the_right_bytes_of_requests_and_of_responses) {
    for (const char *name : {"own_copier", "own_copier_at_once"})
        for (const json &p : {copying_plan(with("none", name)), naming_plan(with("none", name))}) {
            copying_rig r(p, false);
            r.loops(50);
            EXPECT_GT(r.checked().packets, 100u);
            EXPECT_EQ(r.checked().wrong_packets, 0u);
            EXPECT_TRUE(finish_copies(r.copying(), r.copies(), UINT64_MAX));
            EXPECT_EQ(r.copying().submitted, r.copying().ended);
        }
}

TEST(own_copier, that_copies_nothing_is_found_in_every_packet) {
    copying_rig r(copying_plan(with("copies_nothing")), false);
    r.loops(50);
    EXPECT_GT(r.checked().packets, 100u);
    EXPECT_EQ(r.checked().wrong_packets, r.checked().packets);
}

TEST(own_copier, whose_copies_fail_leaves_them_to_the_cpu) {
    copying_rig r(copying_plan(with("fails")), false);
    r.loops(50);
    EXPECT_GT(r.by_cpu(copy_reason::failed), 100u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    EXPECT_EQ(r.copies().copies, 0u);
}

TEST(own_copier, is_wrapped_with_planted_faults_and_its_breach_is_told) {
    const json options = {{"engine", plugin("own_copier")}, {"share", "0.1"}, {"most", "10"}};
    copying_rig r(copying_plan({{"engine", "planted"}, {"options", options}}), false);
    r.loops(100);
    const copy_channel &channel = r.copying().channel;
    EXPECT_EQ(channel.planted(channel.state).count, 10u);
    EXPECT_EQ(r.checked().wrong_packets, 10u);
    EXPECT_EQ(channel.breach(channel.state), "");
}

TEST(own_copier, that_breaks_a_rule_leaves_all_packets_to_the_cpu) {
    copying_rig r(copying_plan(with("takes_too_many", "own_copier_at_once")), false);
    r.loops(50);
    EXPECT_GT(r.by_cpu(copy_reason::no_room), 100u);
    EXPECT_EQ(r.checked().wrong_packets, 0u);
    EXPECT_EQ(r.copying().submitted, 0u);
}

TEST(own_copier, is_tried_before_its_costs_are_measured) {
    std::vector<uint8_t> from(4096, 7), to(4096);
    const auto checking = [&](const char *fault) {
        const opened own(fault);
        return refusal_of([&] { check_copy(own.channel, {from, to}, 4096, 1'000'000); });
    };
    EXPECT_EQ(checking("none"), "");
    EXPECT_EQ(to, from);
    EXPECT_EQ(checking("copies_nothing"), "the copier own does not copy 4096 bytes right");
    EXPECT_EQ(checking("fails"), "the copier own fails copies");
    EXPECT_EQ(checking("takes_too_many"),
              "the copier own: `submit` took more copies than there were: 2, and 1 is the most");
    EXPECT_EQ(checking("ends_too_many"),
              "the copier own: `completed` reported more copies than could have ended: 2, and 1 is the most");
    by_hand full{.room = 0};
    const copy_channel channel{.state = &full, .submit = by_hand::submit, .completed = by_hand::completed};
    EXPECT_THROW(check_copy(channel, {from, to}, 64, 1'000'000), refusal);
}

}  // namespace
}  // namespace wt::test::own_copier_test
