// Match-action tables: the handler match_action, and the command that says what memory its tables need.
#include <windtunnel/handler.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "parts/part.h"
#include "parts/tables/live_table.h"
#include "parts/tables/pipeline.h"

extern "C" {
extern const wt_handler wt_match_action;
}

namespace wt {

namespace {

// Bytes that each table of a pipeline needs from EAL.
bool print_needs(std::span<const std::string> words) {
    if (words.size() != 1) return false;
    auto needs = nlohmann::ordered_json::array();
    for (const table_plan &t : read_pipeline(words[0]).tables) needs.push_back(table_need(t));
    std::printf("%s\n", needs.dump().c_str());
    return true;
}

const wt_handler *const handlers_of_tables[] = {&wt_match_action};
const part_command commands_of_tables[] = {
    {"--tables-need", " JSON",
     "  --tables-need JSON    print the memory that each table of this pipeline needs", print_needs}};

}  // namespace

WT_PART(tables) = {.name = "tables", .handlers = handlers_of_tables, .commands = commands_of_tables};

}  // namespace wt
