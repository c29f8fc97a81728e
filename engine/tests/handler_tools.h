// What the tests of handlers share: bodies in exactly sized pieces, so that a sanitizer sees every byte too
// far.
#pragma once

#include <windtunnel/handler.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "handlers/loading/opened.h"
#include "handlers/loading/registry.h"
#include "test_tools.h"

namespace wt::test {

using bytes = std::vector<uint8_t>;

// A body cut into pieces, each in an allocation of its own.
class cut_body {
  public:
    explicit cut_body(const std::vector<uint32_t> &lengths, uint8_t fill = 0) {
        for (const uint32_t length : lengths) {
            pieces_.push_back(std::make_unique<uint8_t[]>(length));
            std::fill_n(pieces_.back().get(), length, fill);
            segments_.push_back({pieces_.back().get(), length});
            length_ += length;
        }
    }

    cut_body(const std::vector<uint32_t> &lengths, const bytes &content) : cut_body(lengths) { set(content); }

    wt_message message() const {
        return {segments_.data(), static_cast<uint32_t>(segments_.size()), length_};
    }

    void set(const bytes &content) {
        size_t at = 0;
        for (const wt_segment &segment : segments_) {
            std::copy_n(content.begin() + static_cast<ptrdiff_t>(at), segment.length, segment.data);
            at += segment.length;
        }
    }

    bytes get(uint32_t length) const {
        bytes all;
        for (const wt_segment &segment : segments_)
            all.insert(all.end(), segment.data, segment.data + segment.length);
        all.resize(length);
        return all;
    }

  private:
    std::vector<std::unique_ptr<uint8_t[]>> pieces_;
    std::vector<wt_segment> segments_;
    uint32_t length_ = 0;
};

// `length` cut at places of the generator's choosing; pieces may be empty.
template <class generator>
std::vector<uint32_t> random_cuts(uint32_t length, generator &random) {
    std::vector<uint32_t> cuts = {0, length};
    for (uint32_t i = random() % 6; i > 0; --i)
        cuts.push_back(static_cast<uint32_t>(random() % (length + 1)));
    std::ranges::sort(cuts);
    std::vector<uint32_t> lengths;
    for (size_t i = 1; i < cuts.size(); ++i) lengths.push_back(cuts[i] - cuts[i - 1]);
    return lengths;
}

template <class generator>
bytes random_bytes(uint32_t length, generator &random) {
    bytes content(length);
    for (uint8_t &byte : content) byte = static_cast<uint8_t>(random());
    return content;
}

inline uint64_t word_at(const bytes &content, size_t at) {
    uint64_t word;
    std::memcpy(&word, &content.at(at + 7) - 7, sizeof word);
    return word;
}

struct opening {
    uint32_t role = WT_SERVER;
    uint32_t request = 64, response = 64;
    bool scan = true;
    uint64_t seed = 7;
    std::map<std::string, std::string> options = {};
    bool copies = false;
};

inline opened_handler open_table(handler_table table, const opening &how) {
    wt_open about = {};
    about.role = how.role;
    about.request_length = how.request;
    about.response_length = how.response;
    about.scan = how.scan;
    about.copies = how.copies;
    about.numa_socket = -1;
    about.seed = how.seed;
    return {std::move(table), about, how.options};
}

inline opened_handler open_message_handler(const std::string &name, const opening &how = {}) {
    return open_table(handler_named(WT_MESSAGE_HANDLER, name), how);
}

inline std::string refusal_of(const std::string &name, const opening &how) {
    return test::refusal_of([&] { open_message_handler(name, how); });
}

struct responses {
    bytes content;
    uint16_t flags;
};

// One request and its response in memory of its own.
inline responses ask(const opened_handler &handler, const cut_body &request, const cut_body &response) {
    wt_exchange exchange = {request.message(), response.message(), nullptr, 0, 0, 0};
    handler.table().message(handler.state(), &exchange, 1);
    return {response.get(exchange.response.length), exchange.flags};
}

inline responses ask(const opened_handler &handler, const bytes &request, uint32_t room) {
    return ask(handler, cut_body({static_cast<uint32_t>(request.size())}, request), cut_body({room}));
}

}  // namespace wt::test
