// One pipeline said twice: a table of `match_action` and a spec of `swx` must send every packet the same way
// with the same bytes.
//
// Both look up addresses and ports, drop what misses, and send what hits back where it came from. What only
// one of them can say (headers that are no IPv4, checksums that are wrong) is left out.
#include <array>
#include <set>

#include "plan/readers.h"
#include "swx_tools.h"

namespace wt::test::swx_match_action_test {
namespace {

const test::needs_eal eal(1024, 1, headers_are_there);  // rte_fib alone takes 0.1 GiB

using words = std::array<uint32_t, 3>;  // source, destination, both ports

const char *const header =
    "struct ethernet_t {\n\tbit<48> destination\n\tbit<48> source\n\tbit<16> type\n}\nheader ethernet "
    "instanceof ethernet_t\n"
    "struct ip_t {\n\tbit<64> first\n\tbit<32> second\n\tbit<32> source\n\tbit<32> destination\n}\nheader ip "
    "instanceof ip_t\n"
    "struct ports_t {\n\tbit<16> source\n\tbit<16> destination\n}\nheader ports instanceof ports_t\n"
    "struct meta_t {\n\tbit<32> port\n\tbit<32> source\n\tbit<32> destination\n\tbit<16> from\n\tbit<16> "
    "to\n\tbit<48> mac\n}\n"
    "metadata instanceof meta_t\n"
    "action go args none {\n\tmov m.port 0\n\treturn\n}\naction lose args none {\n\tdrop\n}\n";

const char *const back =
    "\trx m.port\n\textract h.ethernet\n\textract h.ip\n\textract h.ports\n\tmov m.source h.ip.source\n"
    "\tmov m.destination h.ip.destination\n\tmov m.from h.ports.source\n\tmov m.to "
    "h.ports.destination\n\ttable t\n"
    "\tmov m.mac h.ethernet.destination\n\tmov h.ethernet.destination h.ethernet.source\n\tmov "
    "h.ethernet.source m.mac\n"
    "\tmov h.ip.source m.destination\n\tmov h.ip.destination m.source\n\tmov h.ports.source m.to\n\tmov "
    "h.ports.destination m.from\n"
    "\temit h.ethernet\n\temit h.ip\n\temit h.ports\n\ttx m.port\n";

// `match`: how each of the fields is matched.
std::string spec_of(const std::vector<std::string> &fields, const std::string &match) {
    std::string keys;
    for (const std::string &field : fields) keys += "\tm." + field + " " + match + "\n";
    return std::string(header) + "table t {\nkey {\n" + keys +
           "}\nactions {\n\tgo\n\tlose\n}\ndefault_action lose args none\nsize 4096\n}\napply {\n" + back +
           "}\n";
}

std::string hex(const words &of, size_t count) {
    char text[40];
    std::string all;
    for (size_t i = 0; i < count; i++) {
        std::snprintf(text, sizeof text, "%08x", of[i]);
        all += text;
    }
    return all;
}

opened_handler open_match_action(const std::string &kind, const std::string &method, const std::string &key,
                                 const std::string &rules) {
    nlohmann::ordered_json json = R"({
        "traffic": "none", "body_offset": 0, "body_bytes": 0,
        "inner": false, "ipv6": false, "change_cpu": null,
        "tables": [{
            "name": "t", "where": "ingress", "rules": 0, "prefixes": "24", "masks": 16, "load": 0.5,
            "lookup": "bulk", "access": "pointer", "entry": "inline", "per_core": false, "action": "forward",
            "meter": null, "miss_drops": true, "changes_per_s": 0, "seed": 1, "steered": false, "hit": 1,
            "popularity": "uniform", "exponent": 1, "expected": 0
        }]
    })"_json;
    json["tables"][0].update(
        {{"kind", kind}, {"method", method}, {"key", nlohmann::ordered_json::parse(key)}, {"file", rules}});
    workload_plan workload{};
    workload.pipeline = read_pipeline(json_value(json, "pipeline"));
    wt_open about = {};
    about.role = WT_SERVER;
    about.numa_socket = -1;
    return {handler_named(WT_PACKET_HANDLER, "match_action"), about, {}, &workload};
}

const std::string tuple =
    R"({"fields":[{"place":"l3","offset":12,"bytes":4},{"place":"l3","offset":16,"bytes":4},{"place":"l4","offset":0,"bytes":4}],"bytes":12,"segments":0})";
const std::string destination = R"({"fields":[{"place":"l3","offset":16,"bytes":4}],"bytes":4,"segments":0})";

words random_words(std::mt19937 &random) {
    const auto below = [&random](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
    return {0x0a000000 | below(64), 0x0b000000 | below(64), below(4) << 16 | below(4)};
}

bytes frame_of(const words &w) {
    return udp_frame(w[0], w[1], static_cast<uint16_t>(w[2] >> 16), static_cast<uint16_t>(w[2]));
}

void expect_the_same(const opened_handler &one, const opened_handler &other,
                     const std::vector<bytes> &frames) {
    const auto ours = send(one, frames), theirs = send(other, frames);
    int hits = 0;
    for (size_t i = 0; i < frames.size(); i++) {
        ASSERT_EQ(ours[i].verdict, theirs[i].verdict) << i;
        if (ours[i].verdict == WT_DROP) continue;
        ASSERT_EQ(ours[i].frame, theirs[i].frame) << i;
        ASSERT_NE(ours[i].frame, frames[i]) << i;
        hits++;
    }
    EXPECT_GT(hits, 500);
    EXPECT_GT(static_cast<int>(frames.size()) - hits, 500);
}

TEST(swx_and_match_action, agree_on_an_exact_table) {
    std::mt19937 random(1);
    std::set<words> keys;
    while (keys.size() < 500) keys.insert(random_words(random));
    std::string ours, theirs = "table t\n";
    std::vector<bytes> frames;
    for (const words &k : keys) {
        ours += hex(k, 3) + ",0\n";
        theirs += "match 0x" + hex({k[0]}, 1) + " 0x" + hex({k[1]}, 1) + " " + std::to_string(k[2] >> 16) +
                  " " + std::to_string(k[2] & 0xffff) + " action go\n";
        for (int i = 0; i < 3; i++)
            frames.push_back(frame_of(k)), frames.push_back(frame_of(random_words(random)));
    }
    const opened_handler swx = open_swx(
        {{"spec", files().file("exact.spec", spec_of({"source", "destination", "from", "to"}, "exact"))},
         {"tables", files().file("exact.entries", theirs)}});
    expect_the_same(open_match_action("exact", "hash", tuple, files().file("exact.csv", ours)), swx, frames);
}

TEST(swx_and_match_action, agree_on_prefixes) {
    std::mt19937 random(2);
    std::set<std::pair<uint32_t, uint32_t>> prefixes;
    while (prefixes.size() < 60) {
        const uint32_t bits = 18 + static_cast<uint32_t>(random() % 15), mask = 0xffffffffu << (32 - bits);
        prefixes.insert({static_cast<uint32_t>(0x0b000000 | random() % 0x40000) & mask, bits});
    }
    std::string ours, theirs = "table t\n";
    char line[80];
    for (const auto &[prefix, bits] : prefixes) {
        std::snprintf(line, sizeof line, "%u.%u.%u.%u/%u,0\n", prefix >> 24, prefix >> 16 & 255,
                      prefix >> 8 & 255, prefix & 255, bits);
        ours += line;
        std::snprintf(line, sizeof line, "match 0x%08x/0x%08x action go\n", prefix,
                      0xffffffffu << (32 - bits));
        theirs += line;
    }
    std::vector<bytes> frames;
    for (int i = 0; i < 4000; i++)
        frames.push_back(udp_frame(static_cast<uint32_t>(random()),
                                   static_cast<uint32_t>(0x0b000000 | random() % 0x60000), 1, 2));
    const opened_handler swx = open_swx({{"spec", files().file("lpm.spec", spec_of({"destination"}, "lpm"))},
                                         {"tables", files().file("lpm.entries", theirs)}});
    for (const char *method : {"fib", "lpm"})
        expect_the_same(open_match_action("lpm", method, destination, files().file("lpm.csv", ours)), swx,
                        frames);
}

TEST(swx_and_match_action, agree_on_masks) {
    std::mt19937 random(3);
    std::set<std::pair<words, words>> rules;
    while (rules.size() < 150) {
        const words masks[] = {{0xffffffff, 0xffffffff, 0xffff},
                               {0xfffffff8, 0xffffffff, 0},
                               {0, 0xfffffffc, 0xffff0000},
                               {0xffffffff, 0, 0xffffffff}};
        const words mask = masks[random() % 4], drawn = random_words(random);
        rules.insert({{drawn[0] & mask[0], drawn[1] & mask[1], drawn[2] & mask[2]}, mask});
    }
    std::string ours, theirs = "table t\n";
    size_t priority = 0;
    char line[200];
    for (const auto &[key, mask] : rules) {
        ours += hex(key, 3) + "/" + hex(mask, 3) + ",0\n";
        std::snprintf(line, sizeof line, "match 0x%x/0x%x 0x%x/0x%x %u/0x%x %u/0x%x priority %zu action go\n",
                      key[0], mask[0], key[1], mask[1], key[2] >> 16, mask[2] >> 16, key[2] & 0xffff,
                      mask[2] & 0xffff, priority++);
        theirs += line;
    }
    std::vector<bytes> frames;
    for (int i = 0; i < 4000; i++) frames.push_back(frame_of(random_words(random)));
    const opened_handler swx = open_swx(
        {{"spec", files().file("masks.spec", spec_of({"source", "destination", "from", "to"}, "wildcard"))},
         {"tables", files().file("masks.entries", theirs)}});
    for (const char *method : {"acl", "linear", "tss"})
        expect_the_same(open_match_action("ternary", method, tuple, files().file("masks.csv", ours)), swx,
                        frames);
}

}  // namespace
}  // namespace wt::test::swx_match_action_test
