// Who may decide what lies in a place of the file system.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

namespace wt {

// Who else than this user, root and `owner` could put something else in this place, or serve it: the owner
// of a part of the path or of a link on the way, or whoever may write such a directory or the file itself.
// In a directory like /tmp, each removes only what is theirs. Empty: nobody; what does not exist yet is
// nobody's (Python: walked.others_may_replace).
std::optional<std::string> other_writer(const std::filesystem::path &place,
                                        std::optional<uid_t> owner = std::nullopt);

}  // namespace wt
