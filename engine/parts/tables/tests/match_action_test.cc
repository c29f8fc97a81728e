// The steps of `match_action` on frames in exactly sized memory: what is parsed, checked, computed and sent
// back. No table is opened here, so no EAL: tests/test_match_action.py runs them.
#include "parts/tables/match_action.h"

#include <gtest/gtest.h>
#include <rte_ip.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "plan/plan.h"
#include "test_tools.h"

namespace wt::test::match_action_test {
namespace {

using bytes = std::vector<uint8_t>;

bytes frame_of(uint32_t options = 0, uint32_t payload = 60) {
    bytes frame(14 + 20 + 4 * options + 8 + payload);
    for (size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>(i * 7 + 1);
    frame[12] = 0x08, frame[13] = 0x00;
    auto *ip = reinterpret_cast<rte_ipv4_hdr *>(frame.data() + 14);
    ip->version_ihl = static_cast<uint8_t>(0x45 + options);
    ip->total_length = rte_cpu_to_be_16(static_cast<uint16_t>(frame.size() - 14));
    ip->fragment_offset = 0;
    ip->time_to_live = 64;
    ip->next_proto_id = 17;
    ip->hdr_checksum = 0;
    ip->hdr_checksum = static_cast<uint16_t>(~rte_raw_cksum(ip, 20 + 4 * options));
    return frame;
}

bool checksum_holds(const bytes &frame) {
    return rte_raw_cksum(frame.data() + 14, (frame[14] & 0xfu) * 4) == 0xffff;
}

// A pipeline without tables, and frames in memory of their own size.
struct rig {
    std::unique_ptr<ma_pipeline> p = std::make_unique<ma_pipeline>();
    std::vector<std::unique_ptr<uint8_t[]>> memory;
    std::vector<wt_packet> burst;

    explicit rig(const std::vector<bytes> &frames) {
        for (auto &of_table : p->values) std::fill(std::begin(of_table), std::end(of_table), MA_NOT_ASKED);
        for (const bytes &frame : frames) {
            memory.push_back(std::make_unique<uint8_t[]>(frame.size()));
            std::ranges::copy(frame, memory.back().get());
            burst.push_back({memory.back().get(), static_cast<uint32_t>(frame.size()), 128, WT_PASS});
        }
    }
    uint32_t parse() { return ma_parse(p.get(), burst.data(), static_cast<uint32_t>(burst.size())); }
    bytes frame(size_t i) const { return {burst[i].data, burst[i].data + burst[i].length}; }
};

TEST(match_action, finds_headers_behind_options) {
    for (uint32_t options = 0; options <= 10; ++options) {
        rig r({frame_of(options)});
        ASSERT_EQ(r.parse(), 1u);
        EXPECT_EQ(r.p->packets[0].at[MA_L3], r.burst[0].data + 14);
        EXPECT_EQ(r.p->packets[0].at[MA_L4], r.burst[0].data + 34 + 4 * options);
        EXPECT_EQ(r.p->packets[0].at[MA_BODY], r.burst[0].data + 42 + 4 * options);
        EXPECT_EQ(ma_verify(r.p.get(), r.burst.data(), 1), 1u);
    }
}

TEST(match_action, passes_other_frames_unchanged) {
    const auto changed = [](size_t at, uint8_t value) {
        bytes frame = frame_of();
        frame[at] = value;
        return frame;
    };
    bytes later = frame_of();
    later[21] = 1;
    rig r(
        {changed(13, 0x06), changed(14, 0x65), changed(14, 0x44), changed(14, 0x4f + 0), later, frame_of()});
    const uint32_t live = r.parse();
    ASSERT_GE(live, 1u);
    EXPECT_EQ(r.p->live[live - 1], 5u);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(r.burst[i].verdict, WT_PASS);
    EXPECT_EQ(r.p->passed_on, r.burst.size() - live);
}

TEST(match_action, reads_no_byte_past_a_truncation) {
    const bytes whole = frame_of(2);
    for (size_t length = 0; length <= whole.size(); ++length) {
        rig r({bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length))});
        r.p->body_bytes = 20;
        const uint32_t live = r.parse();
        EXPECT_EQ(live, length >= 42 + 8 + 20 ? 1u : 0u) << length;
        if (ma_verify(r.p.get(), r.burst.data(), live)) ma_deparse(r.p.get(), r.burst.data(), live);
    }
}

TEST(match_action, drops_only_frames_with_wrong_checksums) {
    std::mt19937 random(1);
    for (int round = 0; round < 500; ++round) {
        std::vector<bytes> frames(1 + random() % 40, frame_of());
        std::vector<bool> wrong(frames.size());
        for (size_t i = 0; i < frames.size(); ++i)
            if ((wrong[i] = random() % 3 == 0))
                frames[i][26 + random() % 8] ^= static_cast<uint8_t>(1 + random() % 255);
        rig r(frames);
        const uint32_t live = ma_verify(r.p.get(), r.burst.data(), r.parse());
        uint32_t next = 0;
        for (size_t i = 0; i < frames.size(); ++i) {
            EXPECT_EQ(r.burst[i].verdict, wrong[i] ? WT_DROP : WT_PASS);
            if (!wrong[i]) {
                ASSERT_LT(next, live);
                EXPECT_EQ(r.p->live[next++], i);
            }
        }
        EXPECT_EQ(next, live);
        EXPECT_EQ(r.p->bad_checksum, frames.size() - live);
    }
}

TEST(match_action, a_rewritten_header_gets_its_checksum_and_goes_back) {
    const bytes before = frame_of();
    rig r({before, before});
    const uint32_t live = r.parse();
    const uint32_t data[] = {0x0a0b0c0d};
    ma_actions actions{};
    actions.kind = MA_REWRITE;
    actions.data = data;
    EXPECT_EQ(ma_act(&actions, 0, r.burst[0].data, r.burst[0].data + 14, 102, 0, &r.p->rewritten[0]), 1);
    EXPECT_FALSE(checksum_holds(r.frame(0)));
    ma_compute(r.p.get(), r.burst.data(), live);
    ma_deparse(r.p.get(), r.burst.data(), live);
    const bytes after = r.frame(0);
    EXPECT_TRUE(checksum_holds(after));
    EXPECT_EQ(after[22], 63);
    EXPECT_EQ(bytes(after.begin() + 6, after.begin() + 12), (bytes{0x02, 0, 0x0a, 0x0b, 0x0c, 0x0d}));
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(after[i], before[6 + i]);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(after[26 + i], before[30 + i]);
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(after[34 + i], before[36 + i]);
    EXPECT_EQ(r.burst[0].verdict, WT_FORWARD);
    const bytes other = r.frame(1);
    EXPECT_EQ(other[22], 64);
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(other[6 + i], before[i]);
}

TEST(match_action, bursts_are_independent) {
    rig r({frame_of()});
    r.p->rewritten[0] = 1;
    r.parse();
    EXPECT_EQ(r.p->rewritten[0], 0);
}

TEST(match_action, a_packet_with_an_expired_ttl_is_dropped) {
    bytes frame = frame_of();
    frame[22] = 1;
    rig r({frame});
    const uint32_t data[] = {0};
    ma_actions actions{};
    actions.kind = MA_REWRITE;
    actions.data = data;
    uint8_t rewritten = 0;
    EXPECT_EQ(ma_act(&actions, 0, r.burst[0].data, r.burst[0].data + 14, 102, 0, &rewritten), 0);
}

TEST(match_action, counts_and_meters_an_entry) {
    std::vector<ma_counter> counters(3);
    ma_actions count{};
    count.kind = MA_COUNT;
    count.counters = counters.data();
    uint8_t rewritten = 0;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ma_act(&count, 2, nullptr, nullptr, 100, 0, &rewritten), 1);
    EXPECT_EQ(counters[2].packets, 5u);
    EXPECT_EQ(counters[2].bytes, 500u);
    EXPECT_EQ(counters[1].packets, 0u);

    // As rte_meter_trtcm_profile_config makes it; that one asks EAL for the clock's frequency.
    ma_actions meter{};
    meter.kind = MA_METER;
    meter.profile = {.cbs = 300,
                     .pbs = 500,
                     .cir_period = 1000,
                     .cir_bytes_per_period = 1,
                     .pir_period = 1000,
                     .pir_bytes_per_period = 2};
    rte_meter_trtcm state{};
    rte_meter_trtcm_config(&state, &meter.profile);
    meter.meters = &state;
    const uint64_t now = state.time_tc;
    for (int i = 0; i < 10; ++i) ma_act(&meter, 0, nullptr, nullptr, 100, now, &rewritten);
    EXPECT_EQ(meter.colours[RTE_COLOR_GREEN], 3u);  // what the committed bucket holds
    EXPECT_EQ(meter.colours[RTE_COLOR_YELLOW], 2u);
    EXPECT_EQ(meter.colours[RTE_COLOR_RED], 5u);
    EXPECT_EQ(ma_act(&meter, 0, nullptr, nullptr, 100, now, &rewritten), 0);
}

// A frame's body says what its key hits; the table said otherwise.
ma_counts checked(uint32_t said, uint32_t value) {
    bytes frame = frame_of();
    std::memcpy(frame.data() + 42 + 16, &said, sizeof said);
    rig r({frame});
    r.p->table_count = 1;
    r.p->tables[0].expected = 16;
    r.p->tables[0].rules = 100;
    r.parse();
    r.p->values[0][0] = value;
    ma_check(r.p.get(), r.burst.data(), 1);
    EXPECT_EQ(r.p->values[0][0], MA_NOT_ASKED);
    return r.p->tables[0].counts;
}

TEST(match_action, every_wrong_lookup_is_detected) {
    const auto wrong = [](uint32_t said, uint32_t value) { return checked(said, value).wrong; };
    for (const uint32_t version : {0, 1}) {
        EXPECT_EQ(wrong(MA_RULE_FROM + 7, 7 << 1 | version), 0u);
        EXPECT_EQ(wrong(MA_RULE_FROM + 7, 8 << 1 | version), 1u);
        EXPECT_EQ(wrong(MA_RULE_FROM + 0, 0 << 1 | version), 0u);
        EXPECT_EQ(wrong(MA_MISS, 7 << 1 | version), 1u);
        EXPECT_EQ(wrong(MA_MISS, 99 << 1 | version), 1u);
        EXPECT_EQ(wrong(MA_MISS, 100 << 1 | version), 0u) << "a rule that was added meanwhile";
    }
    EXPECT_EQ(wrong(MA_RULE_FROM + 7, MA_MISSED), 1u);
    EXPECT_EQ(wrong(MA_MISS, MA_MISSED), 0u);
    EXPECT_EQ(checked(MA_UNKNOWN, 5).checked, 0u);
    EXPECT_EQ(checked(MA_MISS, MA_NOT_ASKED).checked, 0u);
    EXPECT_EQ(checked(MA_RULE_FROM + 7, 14).checked, 1u);
}

TEST(match_action, writes_frames_that_it_can_parse) {
    char words[256];
    rig r(std::vector<bytes>(40, bytes(80)));
    ma_source source{};
    source.key.field_count = 1;
    source.key.fields[0] = {MA_L3, 4, 16};  // 4 bytes at 16
    source.key.bytes = 4;
    source.steered = 1;
    wt_generator generator;
    ASSERT_EQ(wt_generator_open(&generator, WT_LPM, 4, 50, WT_PREFIXES_24, 1, 3, words, sizeof words), 0)
        << words;
    ASSERT_EQ(wt_keys_of_generator(&source.keys, &generator, 0.5, WT_UNIFORM, 1, words, sizeof words), 0)
        << words;
    r.p->table_count = 1;
    r.p->sources = &source;
    r.p->body_bytes = 4;
    ma_write_frames(r.p.get(), r.burst.data(), 40);
    EXPECT_EQ(r.parse(), 40u);
    EXPECT_EQ(ma_verify(r.p.get(), r.burst.data(), 40), 40u);
    uint32_t hits = 0;
    for (size_t i = 0; i < 40; ++i) {
        uint32_t said;
        std::memcpy(&said, r.burst[i].data + 42, sizeof said);
        ASSERT_NE(said, MA_UNKNOWN);
        hits += said != MA_MISS;
        if (said == MA_MISS) continue;
        uint8_t key[4], mask[4];
        const wt_rule rule = wt_generated_rule(&generator, said - MA_RULE_FROM, key, mask);
        EXPECT_EQ(std::memcmp(r.burst[i].data + 30, rule.key, 3), 0);
    }
    EXPECT_GT(hits, 5u);
    EXPECT_LT(hits, 35u);
    wt_keys_close(&source.keys);
}

bytes ipv6_frame_of(uint8_t next_header = 17, uint32_t payload = 60) {
    bytes frame(62 + payload);
    for (size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>(i * 7 + 1);
    frame[12] = 0x86, frame[13] = 0xdd;
    frame[14] = 0x65;  // a traffic class, where IPv4 has a length
    frame[20] = next_header;
    frame[21] = 64;
    return frame;
}

rig rig_of_ipv6(const std::vector<bytes> &frames) {
    rig r(frames);
    r.p->ipv6 = 1;
    return r;
}

TEST(match_action_ipv6, goes_back_with_a_hop_less) {
    const bytes before = ipv6_frame_of();
    rig r = rig_of_ipv6({before});
    ASSERT_EQ(r.parse(), 1u);
    EXPECT_EQ(r.p->packets[0].at[MA_L3], r.burst[0].data + 14);
    EXPECT_EQ(r.p->packets[0].at[MA_L4], r.burst[0].data + 54);
    EXPECT_EQ(r.p->packets[0].at[MA_BODY], r.burst[0].data + 62);
    ASSERT_EQ(ma_verify(r.p.get(), r.burst.data(), 1), 1u);
    const uint32_t data[] = {0x0a0b0c0d};
    ma_actions actions{};
    actions.kind = MA_REWRITE;
    actions.data = data;
    EXPECT_EQ(ma_act(&actions, 0, r.burst[0].data, r.burst[0].data + 14, 122, 0, &r.p->rewritten[0]), 1);
    ma_compute(r.p.get(), r.burst.data(), 1);
    ma_deparse(r.p.get(), r.burst.data(), 1);
    bytes expected = before;
    std::copy_n(before.begin(), 6, expected.begin() + 6);
    const bytes mac = {0x02, 0, 0x0a, 0x0b, 0x0c, 0x0d};
    std::ranges::copy(before.begin() + 6, before.begin() + 12, expected.begin());
    std::copy_n(mac.begin(), 6, expected.begin() + 6);
    expected[21] = 63;
    std::swap_ranges(expected.begin() + 22, expected.begin() + 38, expected.begin() + 38);
    std::swap_ranges(expected.begin() + 54, expected.begin() + 56, expected.begin() + 56);
    EXPECT_EQ(r.frame(0), expected);
    r.burst[0].data[21] = 1;
    EXPECT_EQ(ma_act(&actions, 0, r.burst[0].data, r.burst[0].data + 14, 122, 0, &r.p->rewritten[0]), 0);
}

// ICMP has neighbour discovery in it, and behind an extension header is no port.
TEST(match_action_ipv6, passes_on_what_is_not_tcp_or_udp) {
    std::vector<bytes> frames;
    for (const uint8_t next : {0, 43, 44, 58, 60, 17, 6}) frames.push_back(ipv6_frame_of(next));
    rig r = rig_of_ipv6(frames);
    EXPECT_EQ(r.parse(), 2u);
    EXPECT_EQ(r.p->live[0], 5);
    EXPECT_EQ(r.p->passed_on, 5u);
}

TEST(match_action_ipv6, versions_are_told_apart) {
    const std::vector<bytes> both = {frame_of(), ipv6_frame_of()};
    for (const auto &[ipv6, any, live] : {std::tuple{0u, 0u, 1u}, {1u, 0u, 1u}, {0u, 1u, 2u}, {1u, 1u, 2u}}) {
        rig r(both);
        r.p->ipv6 = ipv6;
        r.p->any_ip = any;
        ASSERT_EQ(r.parse(), live);
        EXPECT_EQ(r.p->live[0], live == 1 && ipv6 ? 1 : 0);
        EXPECT_EQ(ma_verify(r.p.get(), r.burst.data(), live), live);
    }
}

TEST(match_action_ipv6, reads_no_byte_past_a_truncation) {
    const bytes whole = ipv6_frame_of(17, 20);
    for (size_t length = 0; length <= whole.size(); ++length) {
        rig r = rig_of_ipv6({bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length))});
        r.p->body_bytes = 12;
        const uint32_t live = r.parse();
        EXPECT_EQ(live, length >= 62 + 12 ? 1u : 0u) << length;
        if (ma_verify(r.p.get(), r.burst.data(), live)) ma_deparse(r.p.get(), r.burst.data(), live);
    }
}

// In frames and in requests' bodies, for every length, odd ones too: the checksum is one that DPDK takes.
TEST(match_action_ipv6, writes_headers_with_their_checksum) {
    ma_source source{};
    source.key.field_count = 1;
    source.key.fields[0] = {MA_L3, 16, 24};
    source.key.bytes = 16;
    source.steered = 1;
    char words[256];
    wt_generator generator;
    ASSERT_EQ(wt_generator_open(&generator, WT_LPM, 16, 50, WT_PREFIXES_24, 1, 3, words, sizeof words), 0);
    ASSERT_EQ(wt_keys_of_generator(&source.keys, &generator, 0.5, WT_UNIFORM, 1, words, sizeof words), 0);
    for (size_t length = 66; length < 110; ++length) {
        rig r = rig_of_ipv6({bytes(length, 0xa5)});
        r.p->table_count = 1;
        r.p->sources = &source;
        r.p->body_bytes = 4;
        ma_write_frames(r.p.get(), r.burst.data(), 1);
        ASSERT_EQ(r.parse(), 1u);
        const auto *ip = reinterpret_cast<const rte_ipv6_hdr *>(r.burst[0].data + 14);
        EXPECT_EQ(rte_ipv6_udptcp_cksum_verify(ip, r.burst[0].data + 54), 0) << length;
        EXPECT_EQ(rte_be_to_cpu_16(ip->payload_len), length - 54);

        bytes body(52, 0xa5);
        r.p->inner = 1;
        r.p->body_bytes = 52;
        wt_segment segment{.data = body.data(), .length = 52};
        const wt_message request{.segments = &segment, .segment_count = 1};
        ma_write_requests(r.p.get(), &request, 1);
        ip = reinterpret_cast<const rte_ipv6_hdr *>(body.data());
        EXPECT_EQ(rte_ipv6_udptcp_cksum_verify(ip, body.data() + 40), 0);
    }
    wt_keys_close(&source.keys);
}

}  // namespace
}  // namespace wt::test::match_action_test
