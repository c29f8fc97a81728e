// Reads hostile hellos, one after another, responds to them and takes them in. What is read must be what a
// writer writes, and no stranger takes the place of a client whose run has begun.
#include <algorithm>
#include <memory>
#include <tuple>

#include "control/handshake.h"
#include "require.h"

namespace {

using namespace wt;

constexpr uint32_t reserved = message_header_bytes + 9, reserved_behind = hello_bytes - 16;

handshake &initialised(handshake &g, bool is_server) {
    g.us = {.version = hello_version,
            .from_server = is_server,
            .state = session_state::none,
            .status = session_status::none,
            .engine = engine_text_of("0.1.0"),
            .client = is_server ? 0 : 0x0101010101010101u,
            .server = is_server ? 0x0202020202020202u : 0,
            .plan = {}};
    return g;
}

// Whether it is well formed.
bool read_exactly(const uint8_t *data, size_t size, hello *read) {
    // A separate allocation, so that AddressSanitizer detects reads before and behind it.
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[size]);
    std::copy_n(data, size, exact.get());
    if (!hello_read(exact.get(), static_cast<uint32_t>(size), read)) return false;
    for (const char c : engine_version_of(read->engine))
        require(c > ' ' && c < 0x7f, "a version is printable");
    require(read->client != 0, "a sender has a token");
    if (read->version != hello_version) return true;
    uint8_t again[hello_bytes];
    hello_write(again, *read);
    constexpr uint32_t engine = reserved + 7;
    require(size == hello_bytes, "a hello of our version has one length");
    require(std::equal(again + message_header_bytes, again + reserved, data + message_header_bytes) &&
                std::equal(again + engine, again + reserved_behind, data + engine),
            "a hello of our version is written as it was read");
    return true;
}

// What must stay as it is when a hello is dropped or refused.
auto state_of(const handshake &g) {
    return std::tuple(g.peer.load(), g.peer_state.load(), g.peer_stopped_early.load(), g.received.load());
}

void take_by_server(handshake &server, const hello &read) {
    const auto before = state_of(server);
    const uint64_t peer = server.peer;
    drop why = drop::count;
    hello response = read;
    if (handshake_respond(server, &response, &why)) {
        require(response.from_server && response.client == read.client, "a response goes to its client");
        const bool fits = read.version == server.us.version && read.engine == server.us.engine &&
                          read.plan == server.expected;
        require((response.status == session_status::none) == (fits && server.peer == read.client),
                "a client is accepted or gets the reason");
        require(response.status == session_status::none || state_of(server) == before,
                "a refused hello changes nothing");
    } else {
        require(why == drop::stray_hello && state_of(server) == before, "a dropped hello changes nothing");
    }
    require(peer == 0 || server.peer == peer, "a server keeps its client");
}

void release(handshake &server) {
    const auto before = state_of(server);
    const bool has_begun = server.peer_state > static_cast<uint8_t>(session_state::hello);
    handshake_release(server);
    require(!has_begun || state_of(server) == before, "a run that has begun keeps its client");
}

void take_by_client(handshake &client, const hello &read) {
    const auto before = state_of(client);
    const uint64_t peer = client.peer;
    drop why = drop::count;
    handshake_take_response(client, read, &why);
    require(read.client == client.us.client || state_of(client) == before, "only a response to us is taken");
    require(peer == 0 || client.peer == peer, "a client keeps its server");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    handshake client, server;
    initialised(client, false);
    initialised(server, true);
    while (size >= message_header_bytes) {
        const size_t bytes = size < 2 * hello_bytes ? size : hello_bytes;
        hello read;
        if (read_exactly(data, bytes, &read)) {
            take_by_server(server, read);
            take_by_client(client, read);
        }
        if (bytes > reserved && data[reserved] == 'r') release(server);
        data += bytes, size -= bytes;
    }
    return 0;
}
