// A copier: what moves the bytes of payload. One file a copier; `copiers` in meson.build is the only list of
// those that are built in. One of the user's own has the same channel (plugin.h).
//
// A descriptor says what a scenario may ask of it. `open` makes a channel, which belongs to one application:
// one indirect call starts a burst of copies, another one says which have ended.
#pragma once

#include <windtunnel/copier.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wt {

struct modelled_engine_plan;

using copy_piece = wt_copy_piece;

enum class copy_end : uint8_t { well = WT_COPY_WELL, failed = WT_COPY_FAILED };

// Who moves the bytes. Measurements of one kind say nothing about another.
enum class copier_kind : uint8_t { core, hardware, modelled };
constexpr const char *copier_kind_names[] = {"core", "hardware", "modelled"};

// What a driver has counted since it was opened.
struct driver_copies {
    uint64_t submitted, completed, errors;
};

// What a planted fault did.
struct planted_faults {
    const char *fault;
    uint64_t count;
};

struct copy_channel {
    void *state = nullptr;

    // Starts the first of `count` copies, and returns how many: the others found no room.
    uint32_t (*submit)(void *state, const copy_piece *pieces, uint32_t count) = nullptr;

    // How the oldest copies ended that had not been reported, `most` of them at the most. Copies end in the
    // order in which they were started.
    uint32_t (*completed)(void *state, copy_end *ends, uint32_t most) = nullptr;

    // Nothing runs when it returns: what had not ended is stopped.
    void (*close)(void *state) = nullptr;

    // Null where there is nothing to tell.
    driver_copies (*driver)(const void *state) = nullptr;
    planted_faults (*planted)(const void *state) = nullptr;
    // The rule of windtunnel/copier.h that it has broken; empty: none so far.
    std::string (*breach)(const void *state) = nullptr;

    copier_kind kind = copier_kind::core;
    bool immediate = false;  // copies have ended when `submit` returns
    std::string device = {};
    int thread = 0;  // kernel thread of a software copier; 0: it has none
    int cpu = -1;    // where that thread runs
};

// A channel that is to be opened.
struct copier_end {
    uint32_t application;
    uint32_t depth;  // most copies that are started and not reported
    std::map<std::string, std::string> options;
    std::vector<unsigned> lcores;  // for threads of software copiers
    uint64_t seed;
    double ticks_per_ns;
    const modelled_engine_plan *model = nullptr;  // figures for the copier model; null: the plan has none

    const std::string &text(const char *option) const { return options.at(option); }
    uint64_t number(const char *option) const { return std::stoull(options.at(option)); }
};

struct copier {
    const char *name, *help;
    // With the default of this option it has a thread of its own, which wants a CPU; null: it has none.
    const char *thread_option;
    const char *inner_option;    // names the copier on which it works; null: it works itself
    const char *profile_option;  // names the figures of the engine that it models; null: it models none
    uint32_t most_depth;
    const wt_option *options;  // null: none

    // Throws refusal.
    copy_channel (*open)(const copier_end &end);
};

// Defines the copier of a file: WT_COPIER(cpu) = {.name = "cpu", ...};
#define WT_COPIER(name)                \
    extern const copier copier_##name; \
    const copier copier_##name

}  // namespace wt
