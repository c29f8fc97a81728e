#include "wires/describe.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "wires/registry.h"

namespace wt {

namespace {

using json = nlohmann::ordered_json;

struct numbered {
    uint32_t number;
    const char *word;
};

constexpr numbered flag_words[] = {
    {WT_WIRE_SERVER, "server"},
    {WT_WIRE_CLIENT, "client"},
    {WT_WIRE_BOTH_ENDS, "both_ends"},
    {WT_WIRE_TOGETHER, "together"},
    {WT_WIRE_PROCESS_EACH, "process_each"},
    {WT_WIRE_FOREIGN_PEER, "foreign_peer"},
    {WT_WIRE_SILENT, "silent"},
    {WT_WIRE_UNFILLED, "unfilled"},
    {WT_WIRE_TWICE, "twice"},
    {WT_WIRE_MOVES_MBUFS, "moves_mbufs"},
    {WT_WIRE_EMULATES, "emulates"},
    {WT_WIRE_NIC, "nic"},
    {WT_WIRE_LEAVES_MAC, "leaves_mac"},
    {WT_WIRE_DENSE_POOL, "dense_pool"},
    {WT_WIRE_UNFRAMED, "unframed"},
    {WT_WIRE_OWN_MAC, "own_mac"},
    {WT_WIRE_PAIRED_QUEUES, "paired_queues"},
};
constexpr numbered type_words[] = {
    {WT_WIRE_BYTES, "bytes"},   {WT_WIRE_COUNT, "count"},   {WT_WIRE_BOOL, "bool"},
    {WT_WIRE_CHOICE, "choice"}, {WT_WIRE_WORDS, "words"},   {WT_WIRE_TEXT, "text"},
    {WT_WIRE_FILE, "file"},     {WT_WIRE_SOCKET, "socket"}, {WT_WIRE_INTERFACE, "interface"},
    {WT_WIRE_PCI, "pci"},
};
constexpr struct {
    uint32_t number;
    const char *word;
    uint32_t type;  // of its option
} need_words[] = {
    {WT_NEEDS_ROOT, "root", 0},
    {WT_NEEDS_HUGEPAGES, "hugepages", 0},
    {WT_NEEDS_INTERFACE, "interface", WT_WIRE_INTERFACE},
    {WT_NEEDS_NO_INTERFACE, "no_interface", WT_WIRE_INTERFACE},
    {WT_NEEDS_NO_XDP, "no_xdp", WT_WIRE_INTERFACE},
    {WT_NEEDS_CAPTURE, "capture", WT_WIRE_FILE},
    {WT_NEEDS_NIC, "nic", WT_WIRE_PCI},
    {WT_NEEDS_SHARED_SOCKET, "shared_socket", WT_WIRE_SOCKET},
};

const char *word_in(const auto &words, uint32_t number) {
    const auto found = std::ranges::find_if(words, [&](const auto &w) { return w.number == number; });
    return found == std::end(words) ? nullptr : found->word;
}

json text_or_null(const char *text) { return text ? json(text) : json(); }

json option_json(const wt_wire_option &o) {
    const bool ranged = o.type == WT_WIRE_BYTES || o.type == WT_WIRE_COUNT;
    return {{"name", o.name},
            {"scope", o.scope == WT_WIRE_OF_WIRE ? "wire" : "endpoint"},
            {"type", wire_type_word(o.type)},
            {"default", text_or_null(o.fallback)},
            {"required", (o.flags & WT_WIRE_REQUIRED) != 0},
            {"choices", o.choices ? json(words_of(o.choices)) : json()},
            {"least", ranged ? json(o.least) : json()},
            {"most", ranged || o.most ? json(o.most) : json()},
            {"timed", text_or_null(o.timed)},
            {"lossy", text_or_null(o.lossy)},
            {"packets", text_or_null(o.packets)},
            {"frame", (o.flags & WT_WIRE_FRAME) != 0},
            {"role", (o.flags & WT_WIRE_ROLE) != 0},
            {"example", text_or_null(o.example)},
            {"help", o.help}};
}

json wire_json(const wt_wire &w) {
    json options = json::array(), needs = json::array();
    for (const wt_wire_option &o : wire_options(w)) options.push_back(option_json(o));
    for (const wt_wire_need &n : wire_needs(w))
        needs.push_back({{"kind", wire_need_word(n.kind)},
                         {"option", text_or_null(n.option)},
                         {"why", text_or_null(n.why)}});
    const wt_wire_mbufs &m = w.mbufs;
    return {{"name", w.name},
            {"help", w.help},
            {"driver", w.driver},
            {"peer", w.peer},
            {"copies", w.copies},
            {"traits", traits_of(w)},
            {"most_queues", w.most_queues},
            {"most_mtu", w.most_mtu ? json(w.most_mtu) : json()},
            {"mtu_why", text_or_null(w.mtu_why)},
            {"options", options},
            {"needs", needs},
            {"mbufs",
             {{"fixed", m.fixed}, {"rx", m.rx}, {"tx", m.tx}, {"peer_rx", m.peer_rx}, {"frames", m.frames}}}};
}

}  // namespace

const char *wire_type_word(uint32_t type) { return word_in(type_words, type); }

const char *wire_need_word(uint32_t kind) { return word_in(need_words, kind); }

uint32_t type_of_need(uint32_t kind) {
    const auto found = std::ranges::find_if(need_words, [&](const auto &w) { return w.number == kind; });
    return found == std::end(need_words) ? 0 : found->type;
}

uint32_t known_wire_flags() {
    uint32_t all = 0;
    for (const numbered &flag : flag_words) all |= flag.number;
    return all;
}

std::vector<std::string> traits_of(const wt_wire &about) {
    std::vector<std::string> words;
    for (const numbered &flag : flag_words)
        if (about.flags & flag.number) words.emplace_back(flag.word);
    return words;
}

std::vector<std::string> traits_of(const wt_wire &about, const wire_values &values) {
    std::vector<std::string> words = traits_of(about);
    for (const wt_wire_option &o : wire_options(about)) {
        if (o.timed && values.text(o.name) == o.timed) words.emplace_back("timed");
        if (o.lossy && values.text(o.name) == o.lossy) words.emplace_back("lossy");
    }
    return words;
}

void print_wires(std::FILE *out, std::span<const wire *const> wires) {
    json list = json::array();
    for (const wire *w : wires) list.push_back(wire_json(w->about));
    std::fprintf(out, "%s\n", list.dump(2).c_str());
}

}  // namespace wt
