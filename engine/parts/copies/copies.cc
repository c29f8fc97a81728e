// What the part `copies` brings: copiers, which move the bytes of payload, and the commands that say what
// they are and what their copies cost.
#include <cstdio>

#include "handlers/loading/shared_object.h"
#include "parts/copies/accounts.h"
#include "parts/copies/copiers/print_costs.h"
#include "parts/copies/copiers/registry.h"
#include "parts/copies/open.h"
#include "parts/part.h"
#include "run/eal.h"
#include "run/guard.h"

namespace wt {

namespace {

bool print_some_copiers(std::span<const std::string> words) {
    if (words.empty()) return print_copiers(stdout), true;
    if (words.size() != 2 || words[0] != "--plugin") return false;
    start_guard(-1);
    return print_copier_in(stdout, words[1]), true;
}

// JSON: what is to be measured.
bool measure_costs_of_copies(std::span<const std::string> words) {
    if (words.size() != 1) return false;
    const copy_costs_asked asked = read_copy_costs_asked(words[0]);
    if (is_path(asked.engine)) start_guard(-1);
    const running_eal eal(asked.eal);
    return print_copy_costs(stdout, asked), true;
}

constexpr part_command commands_of_copies[] = {
    {"--copiers", " [--plugin FILE]",
     "  --copiers             print the copiers and their options as JSON, or those of this plug-in",
     print_some_copiers},
    {"--copy-costs", " JSON",
     "  --copy-costs JSON     measure what copies by a copier and by the CPU cost; print JSON lines",
     measure_costs_of_copies}};

// Waits for the copies that run, and frees the packets that they were for.
void give_back_copies(run_state &f) {
    finish_all_copies(f);
    free_pending(f);
}

}  // namespace

WT_PART(copies) = {.name = "copies",
                   .commands = commands_of_copies,
                   .step_key = "copier",
                   .tell_handler = tell_handler_of_copies,
                   .calls_handler = handler_checks_copies,
                   .link_endpoint = open_copies,
                   .open_stage = open_stage_of_copies,
                   .add_errands = add_ways_to_copiers,
                   .add_window = add_copies_of_window,
                   .end_hold = skip_copiers_time,
                   .give_back = give_back_copies,
                   .never_ended = abandoned_mbufs,
                   .add_result = add_copies_of_run};

}  // namespace wt
