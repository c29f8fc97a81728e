// Drives the handlers with hostile bodies and frames, cut anywhere, beside models:
//   kv against a std::map; every message handler, cut, against itself in one piece; echo and l2fwd, of which
//   a second call must undo the first.
#include <fuzzer/FuzzedDataProvider.h>

#include <map>

#include "require.h"
#include "tests/handler_tools.h"

extern "C" {
extern const wt_handler wt_t_app, wt_l_app, wt_m_app, wt_fs_write, wt_fs_read, wt_kv, wt_echo, wt_l2fwd;
}

namespace {

using namespace wt;
using namespace wt::test;

handler_table built_in(const wt_handler &table) { return {std::shared_ptr<void>(), &table}; }

std::vector<uint32_t> cuts_of(uint32_t length, FuzzedDataProvider &input) {
    std::vector<uint32_t> lengths;
    uint32_t left = length;
    for (int i = input.ConsumeIntegralInRange(0, 5); i > 0; --i) {
        lengths.push_back(input.ConsumeIntegralInRange<uint32_t>(0, left));
        left -= lengths.back();
    }
    lengths.push_back(left);
    return lengths;
}

// Asks with the input's cuts, in the request's own memory where the input wants it.
responses ask_cut(const opened_handler &handler, const bytes &request, uint32_t room, bool in_place,
                  FuzzedDataProvider &input) {
    const auto length = static_cast<uint32_t>(request.size());
    const cut_body body(cuts_of(length, input), request);
    if (in_place) return ask(handler, body, body);
    return ask(handler, body, cut_body(cuts_of(room, input), 0xa5));
}

bytes body_of(FuzzedDataProvider &input) {
    return input.ConsumeBytes<uint8_t>(input.ConsumeIntegralInRange<size_t>(0, 100));
}

void cut_and_whole(FuzzedDataProvider &input) {
    static const std::pair<const wt_handler *, std::map<std::string, std::string>> handlers[] = {
        {&wt_t_app, {}},
        {&wt_l_app, {}},
        {&wt_m_app, {{"state", "640"}, {"accesses", "3"}}},
        {&wt_fs_write, {{"file", "200"}}},
        {&wt_fs_read, {{"file", "200"}}},
        {&wt_kv, {{"keys", "3"}}},
    };
    const auto &[table, options] = input.PickValueInArray(handlers);
    const opening how = {.scan = input.ConsumeBool(), .options = options};
    const opened_handler cut = open_table(built_in(*table), how), whole = open_table(built_in(*table), how);
    for (int messages = 0; messages < 8 && input.remaining_bytes() > 0; ++messages) {
        const bytes request = body_of(input);
        const bool in_place = input.ConsumeBool();
        const auto room =
            in_place ? static_cast<uint32_t>(request.size()) : input.ConsumeIntegralInRange<uint32_t>(0, 300);
        const responses one = ask_cut(cut, request, room, in_place, input), other = ask(whole, request, room);
        require(one.content == other.content && one.flags == other.flags, "the cuts change nothing");
    }
}

// The expected response of kv, head and value; `model` is the store.
bytes expected_response(std::map<uint64_t, bytes> &model, const bytes &request) {
    enum { done, not_found, no_room, bad_request };
    bytes response(16);
    response[0] = bad_request;
    if (request.size() < 16) return response;
    const uint64_t key = word_at(request, 8);
    const auto length = static_cast<uint32_t>(word_at(request, 0) >> 32);
    if (request[0] == 1) {
        response[0] = model.contains(key) ? done : not_found;
        if (!model.contains(key)) return response;
        response[4] = static_cast<uint8_t>(model[key].size());
        response.insert(response.end(), model[key].begin(), model[key].end());
    } else if (request[0] == 2 && length <= request.size() - 16) {
        response[0] = length <= 32 && (model.contains(key) || model.size() < 8) ? done : no_room;
        if (response[0] == done) model[key] = bytes(request.begin() + 16, request.begin() + 16 + length);
    }
    return response;
}

// A GET or SET of one of a few keys, honest about its length: flipped bits alone would seldom make one.
void mend_request(bytes &request, FuzzedDataProvider &input) {
    if (request.size() < 16) return;
    std::fill_n(request.begin(), 16, 0);
    request[0] = input.ConsumeBool() ? 1 : 2;
    request[4] = static_cast<uint8_t>(request.size() - 16);
    request[8] = input.ConsumeIntegralInRange<uint8_t>(0, 9);
}

void store_and_map(FuzzedDataProvider &input) {
    const opened_handler kv = open_table(built_in(wt_kv), {.scan = false, .options = {{"keys", "5"}}});
    std::map<uint64_t, bytes> model;
    for (uint64_t key = 0; key < 5; ++key) {
        bytes get = {1, 0, 0, 0, 0, 0, 0, 0, static_cast<uint8_t>(key), 0, 0, 0, 0, 0, 0, 0};
        const bytes response = ask(kv, get, 64).content;
        model[key] = bytes(response.begin() + 16, response.end());
    }
    for (int messages = 0; messages < 64 && input.remaining_bytes() > 0; ++messages) {
        bytes request = body_of(input);
        if (input.ConsumeBool()) mend_request(request, input);
        const bool in_place = input.ConsumeBool();
        const auto room =
            in_place ? static_cast<uint32_t>(request.size()) : input.ConsumeIntegralInRange<uint32_t>(0, 64);
        bytes expected = expected_response(model, request);
        expected.resize(std::min<size_t>(expected.size(), room));
        require(ask_cut(kv, request, room, in_place, input).content == expected,
                "kv responds as a map would");
    }
}

// The verdicts of one call on the frames, which it changes.
std::vector<uint16_t> handle(const wt_handler &table,
                             std::vector<std::pair<std::unique_ptr<uint8_t[]>, uint32_t>> &frames) {
    std::vector<wt_packet> burst;
    for (const auto &[data, length] : frames) burst.push_back({data.get(), length, 0, WT_PASS});
    table.packet(nullptr, burst.data(), static_cast<uint32_t>(burst.size()));
    std::vector<uint16_t> verdicts;
    for (const wt_packet &packet : burst) verdicts.push_back(packet.verdict);
    return verdicts;
}

// An IPv4/UDP datagram, as far as `echo` looks, with options where the input has them.
void mend_frame(bytes &frame, FuzzedDataProvider &input) {
    if (frame.size() < 42) return;
    frame[0] &= 0xfe;
    frame[12] = 0x08;
    frame[13] = 0;
    frame[14] = static_cast<uint8_t>(0x40 | input.ConsumeIntegralInRange<uint8_t>(4, 15));
    frame[16] = 0;
    frame[17] = static_cast<uint8_t>(frame.size() - 14);
    frame[20] &= 0xc0;
    frame[21] = 0;
    frame[23] = 17;
}

void there_and_back(FuzzedDataProvider &input) {
    const wt_handler &table = input.ConsumeBool() ? wt_echo : wt_l2fwd;
    std::vector<bytes> before;
    std::vector<std::pair<std::unique_ptr<uint8_t[]>, uint32_t>> frames;
    while (before.size() < 9 && input.remaining_bytes() > 0) {
        before.push_back(body_of(input));
        if (input.ConsumeBool()) mend_frame(before.back(), input);
        frames.emplace_back(std::make_unique<uint8_t[]>(before.back().size()), before.back().size());
        std::ranges::copy(before.back(), frames.back().first.get());
    }
    const auto content = [&](size_t i) {
        return bytes(frames[i].first.get(), frames[i].first.get() + frames[i].second);
    };
    const auto verdicts = handle(table, frames);
    for (size_t i = 0; i < frames.size(); ++i) {
        if (verdicts[i] == WT_PASS) require(content(i) == before[i], "what is passed on is untouched");
        if (verdicts[i] == WT_FORWARD && table.name == wt_echo.name)
            frames[i].first[0] &= 0xfe;  // a sender may claim to be many
    }
    const auto again = handle(table, frames);
    for (size_t i = 0; i < frames.size(); ++i) {
        require(again[i] == verdicts[i], "the way back is the way there");
        bytes sent = before[i];
        if (verdicts[i] == WT_FORWARD && table.name == wt_echo.name) sent[6] &= 0xfe;
        require(content(i) == sent, "twice turned is not turned");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FuzzedDataProvider input(data, size);
    switch (input.ConsumeIntegralInRange(0, 2)) {
        case 0: cut_and_whole(input); break;
        case 1: store_and_map(input); break;
        default: there_and_back(input);
    }
    return 0;
}
