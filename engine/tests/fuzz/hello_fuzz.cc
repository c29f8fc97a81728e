// Reads hostile hellos, responds to them and takes them in. What is read must be what a writer writes.
#include <algorithm>
#include <memory>

#include "control/handshake.h"
#include "require.h"

namespace {

using namespace wt;

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < message_header_bytes) return 0;
    // A separate allocation, so that AddressSanitizer detects reads before and behind it.
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[size]);
    std::copy_n(data, size, exact.get());
    hello read;
    if (!hello_read(exact.get(), static_cast<uint32_t>(size), &read)) return 0;
    for (const char c : engine_version_of(read.engine))
        require(c > ' ' && c < 0x7f, "a version is printable");
    require(read.client != 0, "a sender has a token");
    if (read.version == hello_version) {
        uint8_t again[hello_bytes];
        hello_write(again, read);
        constexpr uint32_t reserved = message_header_bytes + 9, engine = reserved + 7;
        require(size == hello_bytes, "a hello of our version has one length");
        require(
            std::equal(again + message_header_bytes, again + reserved, exact.get() + message_header_bytes) &&
                std::equal(again + engine, again + hello_bytes, exact.get() + engine),
            "a hello of our version is written as it was read");
    }
    handshake client, server;
    drop why = drop::count;
    hello response = read;
    if (handshake_respond(initialised(server, true), &response, &why)) {
        require(response.from_server && response.client == read.client, "a response goes to its client");
        require((response.status == session_status::none) == (server.peer == read.client),
                "a client is accepted or gets the reason");
    } else {
        require(why == drop::stray_hello && server.peer == 0, "a dropped hello changes nothing");
    }
    handshake_take_response(initialised(client, false), read, &why);
    require(client.peer == 0 || read.client == client.us.client, "only a response to us is taken");
    return 0;
}
