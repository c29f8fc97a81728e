// Fills the tables of a pipeline from a file.
#pragma once

#include <rte_swx_ctl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "parts/swx/entries.h"
#include "parts/swx/groups.h"

namespace wt {

// One table of a pipeline that was built.
struct pipeline_table {
    table_shape shape;
    uint64_t entries;
    uint64_t size;  // as the spec has it
};

// All tables of the pipeline, empty, in the order of their ids.
std::vector<pipeline_table> tables_of(rte_swx_pipeline *pipeline);

// Reads the file's entries (entries.h) into the tables, before the first packet. An exact table takes them
// one by one, others are built once with all of theirs: DPDK's own way compares each entry with all before
// it. Members of selectors go to `groups`. Throws refusal that begins with FILE:LINE, or says that a table
// finds no memory. Needs EAL.
void fill_tables(rte_swx_pipeline *pipeline, const std::string &file, int socket,
                 std::vector<pipeline_table> &tables, const std::vector<selector_shape> &selectors,
                 selector_groups &groups);

}  // namespace wt
