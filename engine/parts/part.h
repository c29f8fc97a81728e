// A part: a capability that a run can do without, as one folder of parts/ and one line of parts/meson.build.
//
// The spine (run, stages, core, ...) knows no part. It calls the hooks that stand here, all of them on the
// main thread, between bursts of no worker. What a part does to packets are stage functions of its own, which
// open_stage() puts in the place of the spine's before the workers start: a run that asks for no part runs
// the spine's functions, and no stage calls a hook.
//
// A part's folder also has, if the plan has fields of the part, a file check.cc (plan/check.h says what is in
// it), and its tests.
#pragma once

#include <windtunnel/handler.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

struct rte_mempool;

namespace wt {

struct application;
struct application_plan;
struct dispatcher;
struct endpoint;
struct endpoint_plan;
struct mac_address;
struct probe_errand;
struct probe_reading;
struct run_state;
struct stage;
struct workload_plan;

// What the engine can be asked for besides a run: `windtunnel-engine --NAME WORD...`.
struct part_command {
    const char *name;   // with its dashes, as --spec
    const char *words;  // that follow, as the usage shows them: " FILE [--compiler NAME]", or ""
    const char *help;   // its lines of --help
    // Prints the answer on stdout; EAL has not started. False if the words are not as the usage shows them.
    // Throws refusal.
    bool (*print)(std::span<const std::string> words);
};

// A hook that a part does not need is null.
struct part {
    // Also the owner of the mbufs that give_back() frees, in the ledger.
    const char *name;

    // What it adds to the engine's lists.
    std::span<const wt_handler *const> handlers;
    std::span<const part_command> commands;

    // The key of a step's line that says whether the step is the part's (core/steps.h).
    const char *step_key;

    // Set-up, in this order. Each throws refusal.

    // Whether the part carries this application's workload, in the place of messages over UDP. It has then
    // opened all that the application needs, and `a.carrier`.
    bool (*open_application)(run_state &f, application &a, const endpoint &e, const workload_plan &w);
    // Adds to what the handler of a workload learns when it is opened.
    void (*tell_handler)(const workload_plan &w, wt_open &about);
    // Whether clients call this handler for the part, also where it has nothing to write to requests.
    bool (*calls_handler)(const workload_plan &w, const wt_handler &table);
    // The applications and dispatchers of an endpoint are open and linked to each other.
    void (*link_endpoint)(run_state &f, endpoint &e, uint32_t endpoint_index);
    // A stage has the function, the role and the steps that the spine gives to it. The part changes those
    // that are different with it, and adds its own counts to `stats`.
    void (*open_stage)(run_state &f, stage &s, const endpoint &e);
    // All stages are open. The part adds round trips that probes of the host are to make for it.
    void (*add_errands)(run_state &f, std::vector<probe_errand> &errands);

    // While the workers run.

    // A client's dispatcher knows its peer from here on.
    void (*set_peer)(dispatcher &d, const mac_address &peer);
    // Why the measurement is of no more use, as the result's `reason` says it; null: it is.
    const char *(*end_reason)(const run_state &f);
    // Whether the drain has to wait.
    bool (*is_unfinished)(const run_state &f);
    // Adds what the part counted in a window that all workers have left to the window's line, whose `probe`
    // is of this reading; null: no probe was asked for.
    void (*add_window)(run_state &f, uint32_t epoch, const probe_reading *probe,
                       nlohmann::ordered_json &line);
    // Workers that were held go on: accounts of what ran on meanwhile begin anew.
    void (*end_hold)(run_state &f);

    // After the workers have stopped.

    // Frees the mbufs that the part holds.
    void (*give_back)(run_state &f);
    // Mbufs of a pool that nobody may use again. Their owner in the ledger is `name` with "that never ended".
    uint64_t (*never_ended)(const run_state &f, const rte_mempool *pool);
    // Adds the part's accounts to the result's line.
    void (*add_result)(const run_state &f, nlohmann::ordered_json &line);
};

// Defines the part of a folder: WT_PART(name) = {.name = "name", ...};
#define WT_PART(name)              \
    extern const part part_##name; \
    const part part_##name

}  // namespace wt
