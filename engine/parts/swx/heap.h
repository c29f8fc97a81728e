// Where a pipeline's tables get their memory.
#pragma once

#include <cstdint>

#include "core/refusal.h"

namespace wt {

// A table found no memory: with more of it, what was tried may be tried again.
class out_of_table_memory : public refusal {
    using refusal::refusal;
};

// The socket for rte_swx_pipeline_build_from_lib. With hugepages: the worker's own, EAL takes more as it is
// asked. Without, EAL has what it was started with and no more, and how large a table becomes is known when
// it is built: then a heap of our own. Needs EAL. Throws refusal.
int table_socket(int worker_socket);

// Makes the heap twice as large, as long as it then has at most `most_bytes`, and the machine gives them
// without swapping. Returns whether it did; never with hugepages.
bool grow_table_memory(uint64_t most_bytes);

}  // namespace wt
