#include "parts/registry.h"

#include <vector>

#include "parts/all_parts.h"

namespace wt {

#define WT_DECLARE_PART(name) extern const part part_##name;
#define WT_PART_ADDRESS(name) &part_##name,
WT_ALL_PARTS(WT_DECLARE_PART)

std::span<const part *const> all_parts() {
    static const std::vector<const part *> all = {WT_ALL_PARTS(WT_PART_ADDRESS)};
    return all;
}

const part_command *find_command(std::string_view name) {
    for (const part *p : all_parts())
        for (const part_command &command : p->commands)
            if (name == command.name) return &command;
    return nullptr;
}

}  // namespace wt
