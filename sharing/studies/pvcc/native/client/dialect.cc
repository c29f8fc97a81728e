#include "client/dialect.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/random.h"

namespace wt::client {

namespace {

constexpr std::string_view end_of_line = "\r\n";

std::array<char, 16> digits_of(uint64_t key) {
    std::array<char, 16> digits;
    uint64_t word = mix64(key);
    for (char &digit : digits) {
        digit = "0123456789abcdef"[word & 15];
        word >>= 4;
    }
    return digits;
}

std::string_view key_name(uint64_t key, std::array<char, 24> &room) {
    room[0] = 'k';
    const char *end = std::to_chars(room.data() + 1, room.data() + room.size(), key).ptr;
    return {room.data(), end};
}

void append_number(uint64_t number, std::string &out) {
    std::array<char, 20> room;
    out.append(room.data(), std::to_chars(room.data(), room.data() + room.size(), number).ptr);
}

std::optional<uint64_t> number_of(std::string_view text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

response whole(outcome what, size_t length) { return {response::whole, what, length}; }
constexpr response incomplete{response::incomplete, outcome::wrong, 0};
constexpr response malformed{response::malformed, outcome::wrong, 0};

// The first line without its end; nothing where it has none yet.
std::optional<std::string_view> first_line(std::string_view in) {
    const size_t end = in.substr(0, longest_head).find(end_of_line);
    return end == in.npos ? std::nullopt : std::optional(in.substr(0, end));
}

response no_line(std::string_view in) { return in.size() < longest_head ? incomplete : malformed; }

// A value of `length` at `at`, with `after` behind it. Whoever announces another length than was stored
// responds with something else; it is read only where it is short enough to be read completely.
response read_value(const question &q, std::string_view in, size_t at, uint64_t length,
                    std::string_view after) {
    if (length > q.value + longest_head) return malformed;
    const size_t all = at + length + after.size();
    if (in.size() < all) return incomplete;
    if (in.substr(at + length, after.size()) != after) return malformed;
    const bool right = length == q.value && is_value(q.key, in.substr(at, length));
    return whole(right ? outcome::right : outcome::wrong, all);
}

void ask_memcached(const question &q, std::string_view name, std::string &out) {
    out.append(q.set ? "set " : "get ").append(name);
    if (q.set) {
        out.append(" 0 0 ");
        append_number(q.value, out);
        out.append(end_of_line);
        append_value(q.key, q.value, out);
    }
    out.append(end_of_line);
}

response read_memcached(const question &q, std::string_view in) {
    const auto line = first_line(in);
    if (!line) return no_line(in);
    const size_t length = line->size() + end_of_line.size();
    if (*line == "ERROR" || line->starts_with("CLIENT_ERROR") || line->starts_with("SERVER_ERROR"))
        return whole(outcome::refused, length);
    if (*line == "STORED") return whole(q.set ? outcome::right : outcome::wrong, length);
    if (*line == "NOT_STORED") return whole(q.set ? outcome::refused : outcome::wrong, length);
    if (*line == "END") return whole(q.set ? outcome::wrong : outcome::missing, length);
    if (!line->starts_with("VALUE ")) return malformed;
    // VALUE <key> <flags> <bytes>
    std::array<char, 24> room;
    const std::string_view said = line->substr(6), name = key_name(q.key, room);
    const size_t space = said.find(' '), last = said.rfind(' ');
    if (space == said.npos || last == space) return malformed;
    const auto bytes = number_of(said.substr(last + 1));
    if (!bytes) return malformed;
    response a = read_value(q, in, length, *bytes, "\r\nEND\r\n");
    if (a.state == response::whole && (q.set || said.substr(0, space) != name)) a.what = outcome::wrong;
    return a;
}

void append_bulk(std::string_view text, std::string &out) {
    out.append("$");
    append_number(text.size(), out);
    out.append(end_of_line).append(text).append(end_of_line);
}

void ask_redis(const question &q, std::string_view name, std::string &out) {
    out.append(q.set ? "*3\r\n" : "*2\r\n");
    append_bulk(q.set ? "SET" : "GET", out);
    append_bulk(name, out);
    if (!q.set) return;
    out.append("$");
    append_number(q.value, out);
    out.append(end_of_line);
    append_value(q.key, q.value, out);
    out.append(end_of_line);
}

response read_redis(const question &q, std::string_view in) {
    const auto line = first_line(in);
    if (!line) return no_line(in);
    const size_t length = line->size() + end_of_line.size();
    if (line->empty()) return malformed;
    const std::string_view said = line->substr(1);
    switch (line->front()) {
        case '+': return whole(q.set && said == "OK" ? outcome::right : outcome::wrong, length);
        case '-': return whole(outcome::refused, length);
        case ':': return whole(outcome::wrong, length);
        case '$': break;
        default: return malformed;
    }
    if (said == "-1") return whole(q.set ? outcome::wrong : outcome::missing, length);
    const auto bytes = number_of(said);
    if (!bytes) return malformed;
    response a = read_value(q, in, length, *bytes, end_of_line);
    if (a.state == response::whole && q.set) a.what = outcome::wrong;
    return a;
}

void ask_http(std::string_view name, std::string &out) {
    out.append("GET /").append(name).append(" HTTP/1.1\r\nHost: windtunnel\r\n\r\n");
}

bool is_header(std::string_view line, std::string_view name) {
    return line.size() > name.size() && line[name.size()] == ':' &&
           std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) { return a == (b | 0x20); });
}

std::string_view header_value(std::string_view line) {
    line.remove_prefix(line.find(':') + 1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    return line;
}

// Responses have a Content-Length: static files do, and chunks would be another content.
response read_http(const question &q, std::string_view in) {
    const size_t end = in.substr(0, longest_head).find("\r\n\r\n");
    if (end == in.npos) return no_line(in);
    std::string_view head = in.substr(0, end + end_of_line.size());
    if (!head.starts_with("HTTP/1.1 ") || head.size() < 12) return malformed;
    const auto status = number_of(head.substr(9, 3));
    if (!status || *status < 200) return malformed;
    std::optional<uint64_t> bytes;
    while (!head.empty()) {
        const size_t line_end = head.find(end_of_line);
        const std::string_view line = head.substr(0, line_end);
        head.remove_prefix(line_end + end_of_line.size());
        if (!is_header(line, "content-length")) continue;
        if (bytes) return malformed;  // twice: two readers could disagree on where the response ends
        bytes = number_of(header_value(line));
        if (!bytes) return malformed;
    }
    if (!bytes) return malformed;
    response a = read_value(q, in, end + 4, *bytes, "");
    if (a.state == response::whole && *status != 200)
        a.what = *status == 404 ? outcome::missing : outcome::refused;
    return a;
}

}  // namespace

void append_value(uint64_t key, uint32_t length, std::string &out) {
    const auto digits = digits_of(key);
    for (uint32_t left = length; left != 0;) {
        const uint32_t now = std::min<uint32_t>(left, digits.size());
        out.append(digits.data(), now);
        left -= now;
    }
}

bool is_value(uint64_t key, std::string_view bytes) {
    const auto digits = digits_of(key);
    const std::string_view part(digits.data(), digits.size());
    for (; bytes.size() >= part.size(); bytes.remove_prefix(part.size()))
        if (!bytes.starts_with(part)) return false;
    return part.starts_with(bytes);
}

void ask(protocol p, const question &q, std::string &out) {
    std::array<char, 24> room;
    const std::string_view name = key_name(q.key, room);
    if (p == protocol::memcached) return ask_memcached(q, name, out);
    if (p == protocol::redis) return ask_redis(q, name, out);
    ask_http(name, out);
}

response read_response(protocol p, const question &q, std::string_view in) {
    if (in.empty()) return incomplete;
    if (p == protocol::memcached) return read_memcached(q, in);
    if (p == protocol::redis) return read_redis(q, in);
    return read_http(q, in);
}

}  // namespace wt::client
