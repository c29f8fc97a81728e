// Requests to memcached (text), Redis (RESP) and web servers (HTTP/1.1), and the meaning of their responses.
//
// A key's value is known without a list: hexadecimal digits of mix64(key), over and over. So each response's
// content is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wt::client {

enum class protocol : uint8_t { memcached, redis, http };
inline constexpr std::string_view protocol_names[] = {"memcached", "redis", "http"};

struct question {
    uint64_t key;
    uint32_t value;  // bytes of the key's value
    bool set;        // else GET; HTTP knows GET alone
};

// wrong: another value, or a response to another request
enum class outcome : uint8_t { right, missing, refused, wrong };
inline constexpr size_t outcomes = 4;

struct response {
    enum { incomplete, whole, malformed } state;
    outcome what;
    size_t length;  // bytes of the input that it takes, where it is whole
};

inline constexpr size_t longest_head = 8192;  // of what stands before a value, and of lines without one

// Appends the bytes of the request to `out`.
void ask(protocol p, const question &q, std::string &out);

// The response to `q` at the beginning of `in`. What may still become one is incomplete; callers bound how
// long `in` may grow.
response read_response(protocol p, const question &q, std::string_view in);

// Appends the value of a key.
void append_value(uint64_t key, uint32_t length, std::string &out);
bool is_value(uint64_t key, std::string_view bytes);

}  // namespace wt::client
