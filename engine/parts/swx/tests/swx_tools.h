// What the tests of swx share: a cache of their own, EAL without hugepages, pipelines, and frames with
// headroom.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/refusal.h"
#include "handler_tools.h"
#include "parts/swx/object.h"
#include "suite.h"
#include "test_tools.h"

namespace wt::test {

namespace fs = std::filesystem;

// Files of one test process, removed at its end.
struct scratch : test::temporary_directory {
    scratch() { setenv("XDG_CACHE_HOME", string().c_str(), 1); }
    std::string file(const std::string &name, const std::string &text) const {
        std::ofstream(*this / name, std::ios::binary) << text;
        return *this / name;
    }
    const std::string &path() const { return string(); }
};

inline const scratch &files() {
    static const scratch one;
    return one;
}

inline std::string shipped(const std::string &name) {
    const char *folder = std::getenv("WT_SCENARIOS");
    return std::string(folder ? folder : "scenarios") + "/" + name;
}

inline opened_handler open_swx(const std::map<std::string, std::string> &options) {
    wt_open about = {};
    about.numa_socket = -1;
    return {handler_named(WT_PACKET_HANDLER, "swx"), about, options};
}

inline std::string swx_refusal(const std::map<std::string, std::string> &options) {
    return test::refusal_of([&] { open_swx(options); });
}

// A frame between headroom and zeros, in memory of its own.
struct room {
    static constexpr uint32_t headroom = 64, behind = 64;
    std::vector<uint8_t> memory;
    wt_packet view;
    explicit room(const bytes &frame, uint16_t head = headroom) : memory(head + frame.size() + behind) {
        std::ranges::copy(frame, memory.begin() + head);
        view = {memory.data() + head, static_cast<uint32_t>(frame.size()), head, WT_PASS};
    }
    bytes frame() const { return {view.data, view.data + view.length}; }
};

struct switched {
    wt_verdict verdict;
    bytes frame;
    bool operator==(const switched &) const = default;
};

// All frames in bursts of `burst`.
inline std::vector<switched> send(const opened_handler &handler, const std::vector<bytes> &frames,
                                  size_t burst = 32) {
    std::vector<room> rooms;
    for (const bytes &frame : frames) rooms.emplace_back(frame);
    std::vector<switched> all;
    for (size_t from = 0; from < rooms.size(); from += burst) {
        std::vector<wt_packet> views;
        const size_t to = std::min(rooms.size(), from + burst);
        for (size_t i = from; i < to; i++) views.push_back(rooms[i].view);
        handler.table().packet(handler.state(), views.data(), static_cast<uint32_t>(views.size()));
        for (const wt_packet &view : views)
            all.push_back({static_cast<wt_verdict>(view.verdict), {view.data, view.data + view.length}});
    }
    return all;
}

inline switched send(const opened_handler &handler, const bytes &frame) {
    return send(handler, std::vector<bytes>{frame})[0];
}

// An IPv4/UDP frame with a right header checksum.
inline bytes udp_frame(uint32_t source, uint32_t destination, uint16_t from, uint16_t to, uint8_t ttl = 64,
                       uint8_t protocol = 17, uint32_t payload = 22) {
    bytes f = {0x02, 0,    0, 0, 0, 2, 0x02, 0,    0, 0,   0,        1, 8,
               0,    0x45, 0, 0, 0, 0, 7,    0x40, 0, ttl, protocol, 0, 0};
    const auto put = [&f](uint32_t value, int count) {
        while (count-- > 0) f.push_back(static_cast<uint8_t>(value >> 8 * count));
    };
    put(source, 4), put(destination, 4), put(from, 2), put(to, 2), put(8 + payload, 2), put(0, 2);
    for (uint32_t i = 0; i < payload; i++) f.push_back(static_cast<uint8_t>(i));
    const auto length = static_cast<uint32_t>(f.size() - 14);
    f[16] = static_cast<uint8_t>(length >> 8), f[17] = static_cast<uint8_t>(length);
    uint32_t sum = 0;
    for (size_t i = 14; i < 34; i += 2) sum += static_cast<uint32_t>(f[i] << 8 | f[i + 1]);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    f[24] = static_cast<uint8_t>(~sum >> 8), f[25] = static_cast<uint8_t>(~sum);
    return f;
}

// For needs_eal: 77, a skip, where this engine was built without DPDK's internal headers.
inline int headers_are_there() {
    if (!can_compile_specs()) {
        std::puts(
            "skipped: the engine was built without DPDK's internal headers (engine/parts/swx/fetch fetches "
            "them)");
        return 77;
    }
    files();
    return 0;
}

}  // namespace wt::test
