// Checks a wire's descriptor, so that all other code can rely on it.
#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "core/refusal.h"
#include "wires/describe.h"
#include "wires/registry.h"

namespace wt {

namespace {

struct checking {
    const wire &w;
    const wt_wire &about = w.about;
    std::string who = std::string("wire ") + (about.name && *about.name ? about.name : "without a name");

    void require(bool there, const std::string &what) const {
        if (!there) throw refusal(who + ": " + what, "windtunnel/wire.h says what is required of a wire");
    }
    // `and_this` or nothing of `this_one`.
    void with(wt_wire_flags this_one, wt_wire_flags and_this, const char *what) const {
        require(!has(w, this_one) || has(w, and_this), what);
    }

    void layout() const {
        require(about.abi == WT_WIRE_ABI, "it was built for descriptor version " + std::to_string(about.abi) +
                                              ", this engine has " + std::to_string(WT_WIRE_ABI));
        require(about.size == sizeof(wt_wire), "its descriptor says it has " + std::to_string(about.size) +
                                                   " bytes, not " + std::to_string(sizeof(wt_wire)));
    }

    void texts() const {
        require(about.name && *about.name, "it has no name");
        require(std::strspn(about.name, "abcdefghijklmnopqrstuvwxyz0123456789_") == std::strlen(about.name),
                "its name has letters other than a-z, 0-9 and _");
        for (const auto &[text, what] : {std::pair{about.help, "help"},
                                         {about.driver, "driver"},
                                         {about.peer, "peer"},
                                         {about.copies, "copies"}})
            require(text && *text, std::string("it has no ") + what);
    }

    void flags() const {
        require((about.flags & ~known_wire_flags()) == 0, "it has an unknown flag");
        require(has(w, WT_WIRE_SERVER) || has(w, WT_WIRE_CLIENT), "it allows neither a server nor a client");
        with(WT_WIRE_BOTH_ENDS, WT_WIRE_SERVER, "both ends are ours, but it allows no server");
        with(WT_WIRE_BOTH_ENDS, WT_WIRE_CLIENT, "both ends are ours, but it allows no client");
        with(WT_WIRE_TOGETHER, WT_WIRE_BOTH_ENDS, "ends that are opened together must both be ours");
        with(WT_WIRE_PROCESS_EACH, WT_WIRE_BOTH_ENDS, "ends with a process each must both be ours");
        with(WT_WIRE_EMULATES, WT_WIRE_BOTH_ENDS, "emulation needs both ends");
        with(WT_WIRE_MOVES_MBUFS, WT_WIRE_TOGETHER,
             "mbufs can move only between ends that are opened together");
        require(!has(w, WT_WIRE_TOGETHER) || !has(w, WT_WIRE_PROCESS_EACH),
                "its ends cannot be in one process and in two");
        require(!has(w, WT_WIRE_SILENT) || !has(w, WT_WIRE_FOREIGN_PEER),
                "a foreign peer may respond, so it is not silent");
        require(!has(w, WT_WIRE_UNFILLED) || frame_option(),
                "its frames are unfilled, but no option says how long they are");
    }

    void limits() const {
        require(about.most_queues >= 1 && about.most_queues <= max_queues,
                std::to_string(about.most_queues) + " queues at most: not from 1 to " +
                    std::to_string(max_queues));
        require(!about.most_mtu || (about.mtu_why && *about.mtu_why), "it limits the MTU without a reason");
    }

    const wt_wire_option *frame_option() const {
        for (const wt_wire_option &option : wire_options(about))
            if (option.flags & WT_WIRE_FRAME) return &option;
        return nullptr;
    }

    void option(const wt_wire_option &o) const {
        const std::string its = std::string("option ") + o.name;
        const bool choice = o.type == WT_WIRE_CHOICE || o.type == WT_WIRE_WORDS;
        const bool number = o.type == WT_WIRE_BYTES || o.type == WT_WIRE_COUNT;
        require(o.help && *o.help, its + " has no help");
        require(wire_type_word(o.type), its + " has an unknown type: " + std::to_string(o.type));
        require(o.scope == WT_WIRE_OF_WIRE || o.scope == WT_WIRE_OF_ENDPOINT,
                its + " has an unknown scope: " + std::to_string(o.scope));
        require((o.flags & ~uint32_t{WT_WIRE_REQUIRED | WT_WIRE_FRAME | WT_WIRE_ROLE}) == 0,
                its + " has an unknown flag");
        require(choice == (o.choices != nullptr),
                its + (choice ? " is a choice without choices" : " has choices, but is not a choice"));
        require(!number || (o.least <= o.most && o.most > 0), its + " has no range");
        require(!(o.flags & WT_WIRE_FRAME) || o.type == WT_WIRE_BYTES,
                its + " is a frame's length, but not a size");
        require(!(o.flags & WT_WIRE_ROLE) || (o.scope == WT_WIRE_OF_ENDPOINT && o.choices &&
                                              o.choices == std::string_view("side|server|client")),
                its + " is a role, but not an endpoint's choice of side|server|client");
        require(!(o.flags & WT_WIRE_REQUIRED) || !o.fallback, its + " is required, but has a fallback");
        require(o.fallback || (o.flags & WT_WIRE_REQUIRED), its + " is neither required nor has a fallback");
        require(o.fallback || (o.example && *o.example), its + " has neither a fallback nor an example");
        if (o.fallback) check_wire_value(who, o, o.fallback);
        for (const auto &[word, at_choice] :
             {std::pair{" is timed", o.timed}, std::pair{" is lossy", o.lossy},
              std::pair{" is about packets", o.packets}}) {
            if (at_choice == nullptr) continue;
            require(choice, its + word + ", but not a choice");
            check_wire_value(who, o, at_choice);
        }
    }

    void options() const {
        std::set<std::string> names;
        for (const wt_wire_option &o : wire_options(about)) {
            option(o);
            require(names.insert(o.name).second, std::string("it has two options ") + o.name);
        }
    }

    void need(const wt_wire_need &n) const {
        const char *word = wire_need_word(n.kind);
        require(word, "it has an unknown need: " + std::to_string(n.kind));
        const std::string its = std::string("its need ") + word;
        const uint32_t type = type_of_need(n.kind);
        if (type == 0) return require(n.why && *n.why, its + " has no reason");
        require(n.option, its + " names no option");
        const auto all = wire_options(about);
        const auto found = std::ranges::find_if(
            all, [&](const wt_wire_option &o) { return !std::strcmp(o.name, n.option); });
        require(found != all.end(), its + " names no option of this wire: " + n.option);
        require(found->type == type, its + ": the option " + n.option + " is not a " + wire_type_word(type));
    }

    void needs() const {
        bool capture = false;
        for (const wt_wire_need &n : wire_needs(about)) {
            need(n);
            capture |= n.kind == WT_NEEDS_CAPTURE;
        }
        require(!about.mbufs.frames || capture, "it keeps a capture's frames, but needs no capture");
    }

    void hooks() const {
        const port_operations &o = *w.operations;
        require(w.open, "the hook `open` is missing");
        require(o.link && o.words && o.missed && o.close,
                "`link`, `words`, `missed` and `close` are required of its operations");
        require(!has(w, WT_WIRE_MOVES_MBUFS) || o.drain,
                "the operation `drain` is missing: a wire that moves mbufs must have it");
    }
};

}  // namespace

void check_wire(const wire &w) {
    const checking c{w};
    c.layout();
    c.texts();
    c.options();
    c.flags();
    c.limits();
    c.needs();
    c.hooks();
}

}  // namespace wt
