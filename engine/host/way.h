// Who may decide what lies in a place of the file system.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

namespace wt {

// What a look at a place and the way to it has shown (Python: walked.others_may_replace).
struct way_look {
    // Who else than this user, root and the owner that was named could put something else there, or serve
    // it: the owner of a part of the path or of a link on the way, whoever may write such a directory or the
    // file itself, or whose process responds for its file system. In a directory like /tmp, each removes only
    // what is theirs. A link of /proc leads where a process decides. Empty: nobody.
    std::optional<std::string> other;
    bool is_there;  // if not, and nobody else is in the way, it may be anybody's a moment later
};

// Each step begins at what was looked at before, whatever is put in its place.
way_look look_at_way(const std::filesystem::path &place, std::optional<uid_t> owner = std::nullopt);

// Makes the directory, and those above it, for this user alone, if they are missing, each below an own one.
// False: it cannot be made, or others could put something else in its place.
bool make_on_own_way(const std::filesystem::path &directory);

}  // namespace wt
