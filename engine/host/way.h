// Who may decide what lies in a place of the file system.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace wt {

// Who else than this user, root and the owner of the file could put another one in its place, in words: the
// owner of a directory on the way to it, or whoever may write the file or such a directory. Links are
// followed. Of a directory like /tmp, where only its owner removes a file, nobody. Empty: nobody.
std::optional<std::string> other_writer(const std::filesystem::path &file);

}  // namespace wt
