// The handler swx: the shipped pipelines packet by packet beside naive ones, and packets and specs that would
// break DPDK's own.
#include <array>
#include <set>

#include "swx_tools.h"

namespace wt::test::swx_test {
namespace {

const wt::test::needs_eal eal(32, 1, headers_are_there);

const std::string declarations =
    "struct ethernet_t {\n\tbit<48> d\n\tbit<48> s\n\tbit<16> t\n}\nheader e instanceof ethernet_t\n"
    "struct inner_t {\n\tbit<64> a\n\tbit<64> b\n}\nheader i instanceof inner_t\nheader o instanceof "
    "inner_t\n"
    "struct meta_t {\n\tbit<32> port\n\tbit<32> other\n}\nmetadata instanceof meta_t\n";

opened_handler open_text(const std::string &name, const std::string &apply,
                         std::map<std::string, std::string> options = {}) {
    options["spec"] = files().file(name + ".spec", declarations + apply);
    return open_swx(options);
}

std::vector<bytes> random_frames(uint32_t count, std::mt19937 &random) {
    std::vector<bytes> frames;
    for (uint32_t i = 0; i < count; i++) frames.push_back(random_bytes(random() % 90, random));
    return frames;
}

uint32_t word(const bytes &frame, size_t at) {
    return static_cast<uint32_t>(frame.at(at) << 24 | frame.at(at + 1) << 16 | frame.at(at + 2) << 8 |
                                 frame.at(at + 3));
}

TEST(shipped, l2fwd_equals_the_built_in_handler) {
    std::mt19937 random(1);
    const opened_handler swx = open_swx({{"spec", shipped("swx-l2fwd.spec")}});
    const opened_handler built_in(handler_named(WT_PACKET_HANDLER, "l2fwd"), {}, {});
    const std::vector<bytes> frames = random_frames(2000, random);
    const auto ours = send(swx, frames), theirs = send(built_in, frames);
    for (size_t i = 0; i < frames.size(); i++) {
        if (frames[i].size() < 14)
            EXPECT_EQ(ours[i].verdict, WT_DROP);
        else
            EXPECT_EQ(ours[i], theirs[i]);
    }
}

struct route {
    uint32_t prefix, mask;
    enum { host, hop } what;
    uint32_t hop_number;
};

// The longest prefix, by looking at all of them.
const route *best(const std::vector<route> &routes, uint32_t address) {
    const route *found = nullptr;
    for (const route &r : routes)
        if ((address & r.mask) == r.prefix && (!found || r.mask > found->mask)) found = &r;
    return found;
}

switched routed(const bytes &frame, const std::vector<route> &routes) {
    const switched dropped = {WT_DROP, frame};
    if (frame.size() < 34 || frame[12] != 8 || frame[13] != 0 || frame[22] < 2) return dropped;
    const route *r = best(routes, word(frame, 30));
    if (!r) return dropped;
    if (r->what == route::host) return {WT_PASS, frame};
    switched s = {WT_FORWARD, frame};
    const bytes macs = {2, 0, 0, 0, 0, static_cast<uint8_t>(r->hop_number), 2, 0, 0, 0, 0, 2};
    std::ranges::copy(macs, s.frame.begin());
    s.frame[22]--;
    uint32_t sum = static_cast<uint32_t>(s.frame[24] << 8 | s.frame[25]) + 0x100;  // RFC 1141
    sum = (sum & 0xffff) + (sum >> 16);
    s.frame[24] = static_cast<uint8_t>(sum >> 8), s.frame[25] = static_cast<uint8_t>(sum);
    return s;
}

TEST(shipped, router_agrees_with_a_naive_router) {
    const std::vector<route> routes = {{0x0a4d0002, 0xffffffff, route::host, 0},
                                       {0x0a4d0000, 0xffffff00, route::hop, 1},
                                       {0x0a000000, 0xff000000, route::hop, 3},
                                       {0xc0a80000, 0xffff0000, route::hop, 4}};
    const opened_handler swx = open_swx(
        {{"spec", shipped("swx-router.spec")}, {"tables", shipped("swx-router.tables")}, {"host", "1"}});
    std::mt19937 random(2);
    std::vector<bytes> frames = random_frames(300, random);
    for (int i = 0; i < 3000; i++) {
        const uint32_t nets[] = {0x0a4d0000, 0x0a4d0000, 0x0a010000, 0xc0a80000, 0xc0a90000, 0x0a4d0002};
        const uint32_t net = nets[random() % 6], address = net == 0x0a4d0002 ? net : net + random() % 4096;
        frames.push_back(
            udp_frame(static_cast<uint32_t>(random()), address, 1, 2, static_cast<uint8_t>(random() % 5)));
        if (random() % 10 == 0) frames.back().resize(random() % frames.back().size());
    }
    const auto ours = send(swx, frames);
    std::map<int, int> seen;
    for (size_t i = 0; i < frames.size(); i++) {
        const switched expected = routed(frames[i], routes);
        seen[expected.verdict]++;
        ASSERT_EQ(ours[i].verdict, expected.verdict) << i;
        ASSERT_EQ(ours[i].frame, expected.frame) << i;
    }
    EXPECT_GT(seen[WT_FORWARD], 100);
    EXPECT_GT(seen[WT_PASS], 100);
    EXPECT_GT(seen[WT_DROP], 100);
}

struct rule {
    std::array<uint32_t, 5> key, mask;
    bool permit;
};

std::array<uint32_t, 5> five_tuple(const bytes &f) {
    return {word(f, 26), word(f, 30), word(f, 34) >> 16, word(f, 34) & 0xffff, f[23]};
}

TEST(shipped, acl_agrees_with_a_naive_acl) {
    std::mt19937 random(3);
    std::vector<rule> rules;
    std::string text = "table rules\n";
    const std::array<uint32_t, 5> most = {0xffffffff, 0xffffffff, 0xffff, 0xffff, 0xff};
    std::set<std::pair<std::array<uint32_t, 5>, std::array<uint32_t, 5>>> known;
    while (rules.size() < 200) {
        rule r = {};
        for (size_t i = 0; i < 5; i++) {
            r.mask[i] = random() % 3 ? static_cast<uint32_t>(most[i] & (most[i] << random() % 8)) : 0;
            r.key[i] = static_cast<uint32_t>(random()) & 15 & r.mask[i];
        }
        r.permit = random() % 2;
        if (!known.insert({r.key, r.mask}).second) continue;
        text += "match";
        for (size_t i = 0; i < 5; i++)
            text += " " + std::to_string(r.key[i]) + "/" + std::to_string(r.mask[i]);
        text += " priority " + std::to_string(rules.size()) +
                (r.permit ? " action permit port 0\n" : " action deny\n");
        rules.push_back(r);
    }
    const opened_handler swx =
        open_swx({{"spec", shipped("swx-acl.spec")}, {"tables", files().file("acl.tables", text)}});
    std::vector<bytes> frames;
    for (int i = 0; i < 4000; i++)
        frames.push_back(udp_frame(random() % 16, random() % 16, static_cast<uint16_t>(random() % 16),
                                   static_cast<uint16_t>(random() % 16), 64,
                                   static_cast<uint8_t>(random() % 16)));
    const auto ours = send(swx, frames);
    int permitted = 0;
    for (size_t i = 0; i < frames.size(); i++) {
        const auto key = five_tuple(frames[i]);
        const auto first = std::ranges::find_if(rules, [&](const rule &r) {
            return std::ranges::all_of(std::array<size_t, 5>{0, 1, 2, 3, 4},
                                       [&](size_t f) { return (key[f] & r.mask[f]) == r.key[f]; });
        });
        const bool permit = first != rules.end() && first->permit;
        permitted += permit;
        ASSERT_EQ(ours[i].verdict, permit ? WT_FORWARD : WT_DROP) << i;
        ASSERT_EQ(ours[i].frame, frames[i]);
    }
    EXPECT_GT(permitted, 100);
}

TEST(shipped, exact_finds_all_of_many_flows_and_no_other_flow) {
    std::string text = "table flows\n";
    const uint32_t flows = 20000;
    char line[160];
    for (uint32_t i = 0; i < flows; i++) {
        std::snprintf(line, sizeof line, "match 0x%x 0x0a000002 0x%x 17 action forward port %u\n",
                      0x0b000000 + i, i * 65536 + 9, i % 2);
        text += line;
    }
    const opened_handler swx = open_swx(
        {{"spec", shipped("swx-exact.spec")}, {"tables", files().file("exact.tables", text)}, {"host", "1"}});
    std::vector<bytes> frames;
    for (uint32_t i = 0; i < flows + 100; i++)
        frames.push_back(udp_frame(0x0b000000 + i, 0x0a000002, static_cast<uint16_t>(i), 9));
    const auto ours = send(swx, frames, 7);
    for (uint32_t i = 0; i < flows; i++) ASSERT_EQ(ours[i].verdict, i % 2 ? WT_PASS : WT_FORWARD) << i;
    for (uint32_t i = flows; i < flows + 100; i++) ASSERT_EQ(ours[i].verdict, WT_DROP) << i;
}

TEST(packets, that_are_shorter_than_their_headers_are_dropped) {
    const opened_handler swx = open_text("short",
                                         "apply {\nrx m.port\nextract h.e\nextract h.i\nextract h.o\nemit "
                                         "h.e\nemit h.i\nemit h.o\ntx m.port\n}\n");
    for (uint8_t bytes_there = 0; bytes_there < 60; bytes_there++) {
        const bytes frame(bytes_there, 0xab);
        const switched s = send(swx, frame);
        EXPECT_EQ(s.verdict, bytes_there < 46 ? WT_DROP : WT_FORWARD) << int{bytes_there};
        EXPECT_EQ(s.frame, frame);
    }
}

TEST(packets, grow_at_most_into_their_headroom) {
    const opened_handler swx = open_text("grow",
                                         "apply {\nrx m.port\nextract h.e\nvalidate h.i\nmov h.i.a 1\nmov "
                                         "h.i.b 2\nvalidate h.o\nmov h.o.a 3\nmov h.o.b 4\n"
                                         "emit h.o\nemit h.i\nemit h.e\ntx m.port\n}\n");
    const bytes frame(20, 0x55);
    bytes grown(32);
    grown[7] = 3, grown[15] = 4, grown[23] = 1, grown[31] = 2;
    grown.insert(grown.end(), frame.begin(), frame.end());
    for (const uint16_t head : {0, 31, 32, 40}) {
        room r(frame, head);
        const std::vector<uint8_t> before(r.memory.begin(), r.memory.end());
        wt_packet view = r.view;
        swx.table().packet(swx.state(), &view, 1);
        EXPECT_EQ(view.verdict, head < 32 ? WT_DROP : WT_FORWARD);
        if (head < 32)
            EXPECT_TRUE(std::ranges::equal(before, r.memory));
        else
            EXPECT_EQ(bytes(view.data, view.data + view.length), grown);
    }
}

TEST(packets, shrink) {
    const opened_handler swx =
        open_text("shrink", "apply {\nrx m.port\nextract h.i\nextract h.e\nemit h.e\ntx m.port\n}\n");
    bytes frame(16, 1);
    frame.resize(50, 2);
    EXPECT_EQ(send(swx, frame), (switched{WT_FORWARD, bytes(34, 2)}));
}

TEST(packets, for_a_missing_port_are_dropped) {
    const opened_handler swx =
        open_text("port", "apply {\nrx m.port\nextract h.e\nmov m.port h.e.t\nemit h.e\ntx m.port\n}\n",
                  {{"ports", "3"}, {"host", "2"}});
    for (uint16_t port = 0; port < 300; port++) {
        bytes frame(20);
        frame[12] = static_cast<uint8_t>(port >> 8), frame[13] = static_cast<uint8_t>(port);
        EXPECT_EQ(send(swx, frame).verdict, port == 2 ? WT_PASS : port < 2 ? WT_FORWARD : WT_DROP) << port;
    }
}

TEST(packets, that_exceed_the_instruction_limit_are_dropped_and_the_next_burst_runs) {
    const opened_handler swx = open_text(
        "round",
        "apply {\nrx m.port\nextract h.e\njmpeq OUT h.e.t 1\nrecirculate\nOUT : emit h.e\ntx m.port\n}\n");
    bytes endless(20), one(20);
    one[13] = 1;
    for (int round = 0; round < 2; round++) {
        const auto mixed = send(swx, {one, endless, one});
        EXPECT_EQ(mixed[1].verdict, WT_DROP);
        EXPECT_EQ(mixed[0].verdict, WT_FORWARD);
        EXPECT_EQ(send(swx, std::vector<bytes>(40, one)), std::vector<switched>(40, {WT_FORWARD, one}));
    }
}

// A lookup takes several turns: one that is abandoned half-way must not decide for the next packet.
TEST(packets, that_exceed_the_instruction_limit_end_their_lookup) {
    const std::string spec =
        declarations +
        "struct to_args {\nbit<32> port\n}\naction to args instanceof to_args {\nmov m.port "
        "t.port\nreturn\n}\n"
        "table t {\nkey {\nh.e.t exact\n}\nactions {\nto\n}\ndefault_action to args port 3\nsize 64\n}\n"
        "apply {\nrx m.port\nextract h.e\nAGAIN : table t\njmpeq AGAIN h.e.t 7\nemit h.e\ntx m.port\n}\n";
    const std::string entries = "table t\nmatch 0x7 action to port 1\nmatch 0x1 action to port 2\n";
    const opened_handler swx = open_swx({{"spec", files().file("again.spec", spec)},
                                         {"tables", files().file("again.tables", entries)},
                                         {"host", "2"}});
    bytes endless(20), one(20);
    endless[13] = 7, one[13] = 1;
    for (size_t stuck = 1; stuck < 20; stuck++) {
        send(swx, std::vector<bytes>(stuck, endless));
        ASSERT_EQ(send(swx, std::vector<bytes>(40, one)), std::vector<switched>(40, {WT_PASS, one})) << stuck;
    }
}

TEST(packets, that_loop_are_sent_in_the_end) {
    const opened_handler swx =
        open_text("rounds",
                  "apply {\nrx m.port\nrecircid m.other\nextract h.e\njmpgt OUT m.other 3\nadd h.e.t "
                  "1\nrecirculate\nOUT : emit h.e\ntx m.port\n}\n");
    const switched s = send(swx, bytes(20));
    EXPECT_EQ(s.verdict, WT_FORWARD);
    EXPECT_EQ(s.frame.at(13), 4);
}

TEST(steps, do_not_change_the_results) {
    opened_handler swx = open_swx(
        {{"spec", shipped("swx-router.spec")}, {"tables", shipped("swx-router.tables")}, {"host", "1"}});
    std::vector<bytes> frames(40, udp_frame(1, 0x0a4d0005, 1, 2));
    const auto without = send(swx, frames);
    const auto &counted = swx.steps().taken;
    swx.steps().now = swx.steps().taken.data();
    EXPECT_EQ(send(swx, frames), without);
    ASSERT_EQ(swx.steps().names.size(), 4u);
    EXPECT_EQ(swx.steps().names[0].name, "parser");
    EXPECT_EQ(swx.steps().names[3].name, "routes");
    EXPECT_EQ(counted[0].packets, 40u);
    EXPECT_EQ(counted[3].packets, 40u);
    for (const size_t step : {0, 2, 3}) EXPECT_GT(counted[step].cycles, 0u) << step;
    const auto hits =
        static_cast<size_t>(std::ranges::find(swx.counters(), std::string_view("hits"), &wt_counter::name) -
                            swx.counters().begin());
    ASSERT_LT(hits + 2, swx.counters().size());
    std::vector<uint64_t> values(WT_MAX_COUNTERS);
    swx.table().read_counters(swx.state(), values.data());
    EXPECT_EQ(values[hits], 80u);
    EXPECT_EQ(values[hits + 2], 4u);
}

TEST(refusals, name_the_cause_and_the_line) {
    const std::string router = shipped("swx-router.spec");
    const auto tables = [&](const std::string &text) {
        return swx_refusal({{"spec", router}, {"tables", files().file("wrong.tables", text)}});
    };
    EXPECT_NE(tables("table routes\nmatch 1/0xff00ff00 action to_host\n")
                  .find("wrong.tables:2: the mask of a prefix"),
              std::string::npos);
    EXPECT_NE(tables("table nope\n").find("wrong.tables:1: the spec has no table"), std::string::npos);
    EXPECT_NE(
        tables("table routes\nmatch 16/0xfffffff0 action to_host\n# \nmatch 17/0xfffffff0 action to_host\n")
            .find("wrong.tables:4: table routes has an entry of this key in line 2"),
        std::string::npos);
    EXPECT_NE(swx_refusal({}).find("the option spec is empty"), std::string::npos);
    EXPECT_NE(swx_refusal({{"spec", router}, {"host", "9"}}).find("none of the pipeline's ports"),
              std::string::npos);
    EXPECT_NE(swx_refusal({{"spec", router}, {"ports", "0"}}).find("not from 1 to 256"), std::string::npos);
    EXPECT_NE(swx_refusal({{"spec", router}, {"compiler", "no-such-gcc"}}).find("cannot be started"),
              std::string::npos);
    EXPECT_NE(swx_refusal({{"spec", router}, {"compiler", "false"}}).find("does not support this compiler"),
              std::string::npos);
    EXPECT_NE(swx_refusal({{"spec", "/nowhere.spec"}}).find("no such file"), std::string::npos);
}

TEST(refusals, of_a_table_that_is_full_name_the_line) {
    const std::string spec = declarations +
                             "action a args none {\nreturn\n}\ntable t {\nkey {\nm.other exact\n}\nactions "
                             "{\na\n}\ndefault_action a args none\nsize 4\n}\n"
                             "apply {\nrx m.port\ntable t\ntx m.port\n}\n";
    std::string text = "table t\n";
    for (int i = 0; i < 9; i++) text += "match " + std::to_string(i) + " action a\n";
    const std::string said = swx_refusal(
        {{"spec", files().file("small.spec", spec)}, {"tables", files().file("small.tables", text)}});
    EXPECT_NE(said.find("small.tables:6: table t is full: its size in the spec is 4"), std::string::npos)
        << said;
}

// Whoever may write above it could put a link there, to a file of ours that came from elsewhere.
TEST(cache, is_nowhere_where_others_choose_what_is_there) {
    const std::string usual = spec_object(shipped("swx-l2fwd.spec"), "gcc");
    EXPECT_TRUE(usual.starts_with(fs::canonical(files().path()).string()));
    const fs::path open = fs::path(files().path()) / "open";
    fs::create_directory(open);
    const auto place_with = [&](fs::perms mode) {
        fs::permissions(open, mode);
        setenv("XDG_CACHE_HOME", open.c_str(), 1);
        const std::string object = spec_object(shipped("swx-l2fwd.spec"), "gcc");
        setenv("XDG_CACHE_HOME", files().path().c_str(), 1);
        return fs::path(object).string().starts_with(fs::canonical(open).string());
    };
    EXPECT_FALSE(place_with(fs::perms::all));
    EXPECT_TRUE(place_with(fs::perms::all | fs::perms::sticky_bit));
    EXPECT_TRUE(place_with(fs::perms::owner_all));
}

TEST(cache, a_truncated_object_is_compiled_again) {
    const std::string object = spec_object(shipped("swx-l2fwd.spec"), "gcc");
    fs::resize_file(object, 100);
    EXPECT_EQ(send(open_swx({{"spec", shipped("swx-l2fwd.spec")}}), bytes(20)).verdict, WT_FORWARD);
    EXPECT_GT(fs::file_size(object), 1000u);
    for (const auto &entry : fs::recursive_directory_iterator(files().path()))
        EXPECT_FALSE(entry.path().filename().string().starts_with("build-"));
}

}  // namespace
}  // namespace wt::test::swx_test
