// The handler swx and what a pipeline has beside its tables: selectors, learners, meters, registers, ports;
// what is set of them, and what is counted.
#include "swx_tools.h"

namespace wt::test::swx_objects_test {
namespace {

const wt::test::needs_eal eal(32, 1, headers_are_there);

const std::string declarations =
    "struct ethernet_t {\n\tbit<48> d\n\tbit<48> s\n\tbit<16> t\n}\nheader e instanceof ethernet_t\n"
    "struct meta_t {\n\tbit<32> port\n\tbit<32> group\n\tbit<32> member\n\tbit<48> flow\n\tbit<32> timeout\n"
    "\tbit<32> length\n\tbit<32> in\n\tbit<32> color\n}\nmetadata instanceof meta_t\n";
const std::string selector =
    "selector hops {\n\tgroup_id m.group\n\tselector {\n\t\th.e.s\n\t}\n\tmember_id m.member\n"
    "\tn_groups_max 4\n\tn_members_per_group_max 8\n}\n"
    "apply {\n\trx m.port\n\textract h.e\n\tmov m.group 1\n\ttable hops\n\temit h.e\n\ttx m.member\n}\n";
const std::string policed =
    "metarray police size 2\nregarray seen size 100 initval 5\n"
    "apply {\n\trx m.port\n\textract h.e\n\tmov m.length 60\n\tmov m.in 0\n"
    "\tmeter police 1 m.length m.in m.color\n\tregadd seen 2 3\n\temit h.e\n\ttx m.color\n}\n";
const std::string learner =
    "action known args none {\n\treturn\n}\naction fresh args none {\n\tlearn known m.timeout\n\treturn\n}\n"
    "learner flows {\n\tkey {\n\t\tm.flow\n\t}\n\tactions {\n\t\tknown\n\t\tfresh\n\t}\n"
    "\tdefault_action fresh args none\n\tsize 1024\n\ttimeout {\n\t\t60\n\t}\n}\n"
    "apply {\n\trx m.port\n\textract h.e\n\tmov m.flow h.e.s\n\tmov m.timeout 0\n\ttable flows\n"
    "\temit h.e\n\ttx m.port\n}\n";

std::map<std::string, std::string> options(const std::string &name, const std::string &spec,
                                           const std::string &tables) {
    std::map<std::string, std::string> all = {{"spec", files().file(name + ".spec", declarations + spec)}};
    if (!tables.empty()) all["tables"] = files().file(name + ".tables", tables);
    return all;
}

// "OF/NAME" -> value.
std::map<std::string, uint64_t> counted(const opened_handler &swx) {
    std::vector<uint64_t> values(WT_MAX_COUNTERS);
    swx.table().read_counters(swx.state(), values.data());
    std::map<std::string, uint64_t> all;
    for (size_t i = 0; i < swx.counters().size(); i++)
        all[std::string(swx.counters()[i].of) + "/" + swx.counters()[i].name] = values[i];
    return all;
}

std::vector<bytes> frames_of(uint32_t sources) {
    std::vector<bytes> frames;
    for (uint32_t i = 0; i < sources; i++) {
        bytes frame(60, 0);
        for (size_t at = 0; at < 4; at++) frame[8 + at] = static_cast<uint8_t>(i * 2654435761u >> 8 * at);
        frames.push_back(frame);
    }
    return frames;
}

TEST(selectors, send_packets_to_the_members_of_a_group_by_weight) {
    const opened_handler swx = open_swx(options(
        "hops", selector, "selector hops\ngroup 1 member 1\ngroup 1 member 2 weight 3\ngroup 0 member 3\n"));
    send(swx, frames_of(4000));
    auto found = counted(swx);
    EXPECT_EQ(found["hops/selections"], 4000u);
    EXPECT_EQ(found["port 0/sent"] + found["port 3/sent"], 0u);
    EXPECT_EQ(found["port 1/sent"] + found["port 2/sent"], 4000u);
    EXPECT_GT(found["port 1/sent"], 500u);
    EXPECT_GT(found["port 2/sent"], 2 * found["port 1/sent"]);
}

TEST(selectors, without_groups_are_refused) {
    for (const char *tables : {"", "# nothing\n", "selector hops\n"}) {
        const std::string said = swx_refusal(options("empty", selector, tables));
        EXPECT_NE(said.find("empty.spec: selector hops has no groups: each packet would go to member 0"),
                  std::string::npos)
            << said;
    }
    const auto refused = [](const std::string &tables) {
        return swx_refusal(options("hops", selector, "selector hops\n" + tables));
    };
    EXPECT_NE(refused("group 1 member 5\ngroup 1 member 5\n")
                  .find("hops.tables:3: group 1 of selector hops has "
                        "this member in line 2"),
              std::string::npos);
    std::string many;
    for (int i = 0; i < 9; i++) many += "group 1 member " + std::to_string(i) + "\n";
    EXPECT_NE(refused(many).find("hops.tables:10: group 1 of selector hops is full"), std::string::npos);
    EXPECT_NE(refused("match 1 action a\n").find("hops.tables:2: this is no member"), std::string::npos);
}

TEST(meters, take_their_profile_and_registers_are_shown) {
    const std::string profile = "meter profile slow add cir 1 pir 1 cbs 600 pbs 600\n";
    const opened_handler swx =
        open_swx(options("police", policed, profile + "meter police from 1 to 1 set profile slow\n"));
    send(swx, frames_of(100));
    auto found = counted(swx);
    EXPECT_EQ(found["police[1]/green"], 10u);  // 600 bytes
    EXPECT_EQ(found["police[1]/green"] + found["police[1]/yellow"] + found["police[1]/red"], 100u);
    EXPECT_EQ(found["police[0]/green"], 0u);
    EXPECT_EQ(found["seen[2]/value"], 305u);
    EXPECT_EQ(found["seen[7]/value"], 5u);
    EXPECT_FALSE(found.contains("seen[8]/value"));
    EXPECT_EQ(found["port 0/sent"], 10u);
}

TEST(meters, without_a_profile_call_each_packet_green) {
    const opened_handler swx = open_swx(options("green", policed, ""));
    send(swx, frames_of(100));
    EXPECT_EQ(counted(swx)["police[1]/green"], 100u);
}

TEST(meters, are_refused_at_their_line) {
    const auto refused = [](const std::string &tables) {
        return swx_refusal(options("police", policed, tables));
    };
    const std::string profile = "meter profile slow add cir 1 pir 1 cbs 600 pbs 600\n";
    EXPECT_NE(refused("meter police\n").find("police.tables:1: this sets no meter"), std::string::npos);
    EXPECT_NE(refused(profile + profile).find("police.tables:2: profile slow is there already"),
              std::string::npos);
    EXPECT_NE(
        refused("meter profile p add cir 2 pir 1 cbs 600 pbs 600\n").find("police.tables:1: profile p: "),
        std::string::npos);
    EXPECT_NE(refused("meter profile p add cir x pir 1 cbs 600 pbs 600\n").find("\"x\" is not a number"),
              std::string::npos);
    EXPECT_NE(
        refused(profile + "meter police from 0 to 2 set profile slow\n").find("police has meters 0 to 1"),
        std::string::npos);
    EXPECT_NE(refused("meter police from 0 to 1 set profile slow\n").find("there is no profile \"slow\""),
              std::string::npos);
    EXPECT_NE(refused("meter other from 0 to 1 set profile slow\n").find("no array of meters \"other\""),
              std::string::npos);
}

TEST(learners, count_what_they_learn) {
    const opened_handler swx = open_swx(options("flows", learner, ""));
    for (int i = 0; i < 5; i++) send(swx, frames_of(10));
    auto found = counted(swx);
    EXPECT_EQ(found["flows/misses"], 10u);
    EXPECT_EQ(found["flows/learned"], 10u);
    EXPECT_EQ(found["flows/not learned"], 0u);
    EXPECT_EQ(found["flows/hits"], 40u);
}

}  // namespace
}  // namespace wt::test::swx_objects_test
