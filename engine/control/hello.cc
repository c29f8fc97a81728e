#include "control/hello.h"

#include <algorithm>
#include <cstdio>

namespace wt {

namespace {

constexpr uint32_t magic = 0x5774486f;  // "WtHo"

// What follows the message header, in network byte order.
struct body {
    uint32_t magic;
    uint16_t version;
    uint8_t from_server, state, status, reserved[7];
    engine_text engine;
    uint64_t client, server;
    plan_digest plan;
    uint8_t reserved_behind[16];
};
static_assert(sizeof(body) == hello_bytes - message_header_bytes);
static_assert(offsetof(body, plan) == hello_stable_bytes - message_header_bytes);

constexpr size_t shown_bytes = 6;  // of a digest, in messages

// Printable characters, then zeros to the end.
bool is_plain_text(const engine_text &text) {
    const auto end = std::find(text.begin(), text.end(), '\0');
    const auto printable = [](char c) { return c > ' ' && c < 0x7f; };
    return std::all_of(text.begin(), end, printable) &&
           std::all_of(end, text.end(), [](char c) { return c == 0; });
}

int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

}  // namespace

engine_text engine_text_of(std::string_view version) {
    engine_text text{};
    std::copy_n(version.begin(), std::min(version.size(), text.size()), text.begin());
    return text;
}

std::string engine_version_of(const engine_text &text) {
    return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

plan_digest plan_digest_of(std::string_view hash, bool of_server) {
    plan_digest plan{};
    const size_t half = hash.size() / 2;
    const std::string_view digits = hash.substr(of_server ? half : 0, half);
    for (size_t i = 0; i < plan.size() && 2 * i + 1 < digits.size(); i++)
        plan[i] = static_cast<uint8_t>(digit_of(digits[2 * i]) << 4 | digit_of(digits[2 * i + 1]));
    return plan;
}

std::string short_hash(const plan_digest &plan) {
    char text[2 * shown_bytes + 1];
    for (size_t i = 0; i < shown_bytes; i++) std::snprintf(text + 2 * i, 3, "%02x", plan[i]);
    return text;
}

plan_digest shown_digest(const plan_digest &plan) {
    plan_digest shown{};
    std::copy_n(plan.begin(), shown_bytes, shown.begin());
    return shown;
}

void hello_write(uint8_t *payload, const hello &h) {
    const message_kind kind = h.from_server ? message_kind::hello_response : message_kind::hello;
    message_header_write(payload, {kind, 0, 0, 0, 0, 0, 1});
    const body wire = {rte_cpu_to_be_32(magic),
                       rte_cpu_to_be_16(h.version),
                       h.from_server,
                       static_cast<uint8_t>(h.state),
                       static_cast<uint8_t>(h.status),
                       {},
                       h.engine,
                       rte_cpu_to_be_64(h.client),
                       rte_cpu_to_be_64(h.server),
                       h.plan,
                       {}};
    std::memcpy(payload + message_header_bytes, &wire, sizeof wire);
}

bool hello_read(const uint8_t *payload, uint32_t bytes, hello *out) {
    body wire{};
    if (bytes < hello_stable_bytes || !is_hello(payload)) return false;
    std::memcpy(&wire, payload + message_header_bytes,
                std::min<size_t>(sizeof wire, bytes - message_header_bytes));
    const bool from_server = static_cast<message_kind>(payload[0]) == message_kind::hello_response;
    if (wire.magic != RTE_BE32(magic) || wire.from_server != from_server || !is_plain_text(wire.engine))
        return false;
    *out = {.version = rte_be_to_cpu_16(wire.version),
            .from_server = from_server,
            .state = session_state::none,
            .status = session_status::none,
            .engine = wire.engine,
            .client = rte_be_to_cpu_64(wire.client),
            .server = rte_be_to_cpu_64(wire.server),
            .plan = {}};
    if (out->client == 0 || (from_server && out->server == 0)) return false;
    if (out->version != hello_version) return true;
    if (bytes != hello_bytes || wire.state < static_cast<uint8_t>(session_state::hello) ||
        wire.state > static_cast<uint8_t>(session_state::finished) ||
        wire.status >= static_cast<uint8_t>(session_status::count))
        return false;
    out->state = static_cast<session_state>(wire.state);
    out->status = static_cast<session_status>(wire.status);
    out->plan = wire.plan;
    return true;
}

}  // namespace wt
