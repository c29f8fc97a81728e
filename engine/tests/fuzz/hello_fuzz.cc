// Reads hostile words between hosts, answers them and takes them in; what is read must be what a writer would write.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "core/greeter.h"

namespace {

using namespace wt;

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

greeter &greeted(greeter &g, bool is_server) {
    g.us = {.version = hello_version,
            .from_server = is_server,
            .said = word::none,
            .beside = remark::none,
            .engine = engine_text_of("0.1.0"),
            .client = is_server ? 0 : 0x0101010101010101u,
            .server = is_server ? 0x0202020202020202u : 0,
            .plan = {}};
    return g;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < message_header_bytes) return 0;
    // An allocation of its own: AddressSanitizer sees what lies before and behind it.
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[size]);
    std::copy_n(data, size, exact.get());
    hello read;
    if (!hello_read(exact.get(), static_cast<uint32_t>(size), &read)) return 0;
    for (const char c : engine_version_of(read.engine)) require(c > ' ' && c < 0x7f, "a version is fit for a terminal");
    require(read.client != 0, "whoever speaks has a token");
    if (read.version == hello_version) {
        uint8_t again[hello_bytes];
        hello_write(again, read);
        constexpr uint32_t reserved = message_header_bytes + 9, engine = reserved + 7;
        require(size == hello_bytes, "a word of ours has one length");
        require(std::equal(again + message_header_bytes, again + reserved, exact.get() + message_header_bytes) &&
                    std::equal(again + engine, again + hello_bytes, exact.get() + engine),
                "a word of ours is written as it was read");
    }
    greeter client, server;
    drop why = drop::count;
    hello answer = read;
    if (greeter_answer(greeted(server, true), &answer, &why)) {
        require(answer.from_server && answer.client == read.client, "an answer is for the asker");
        require((answer.beside == remark::none) == (server.peer == read.client), "a client is welcome or told why not");
    } else {
        require(why == drop::stray_hello && server.peer == 0, "what is dropped leaves no trace");
    }
    greeter_take(greeted(client, false), read, &why);
    require(client.peer == 0 || read.client == client.us.client, "only an answer to us is taken");
    return 0;
}
