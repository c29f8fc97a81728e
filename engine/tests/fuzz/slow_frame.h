// What the slow parsers of both IP versions share.
#pragma once

#include <span>

#include "require.h"
#include "tests/frame_tools.h"

namespace wt {

struct verdict {
    parse_result result;
    drop why = drop::count;
    parsed_frame frame = {};
};

inline verdict dropped(drop why) { return {parse_result::dropped, why}; }

// What a frame is dropped for that is tagged; drop::count where it is not.
inline drop fault_of_tags(std::span<const uint8_t> f) {
    const auto begins_tag = [&](size_t at) {
        const uint32_t type = f.size() >= at + 2 ? big16(f, at) : 0;
        return type == 0x8100 || type == 0x88a8 || type == 0x9100;
    };
    if (!begins_tag(12)) return drop::count;
    return begins_tag(16) ? drop::double_tagged : drop::tagged;
}

}  // namespace wt
