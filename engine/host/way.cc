#include "host/way.h"

#include <sys/stat.h>
#include <unistd.h>

namespace wt {

namespace fs = std::filesystem;

static std::optional<std::string> writer_of(const fs::path &place, uid_t owner) {
    struct stat about;
    if (stat(place.c_str(), &about) != 0) return "nobody knows who may write " + place.string();
    if (about.st_uid != 0 && about.st_uid != geteuid() && about.st_uid != owner)
        return place.string() + " belongs to user " + std::to_string(about.st_uid);
    const bool each_keeps_its_own = S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0;
    if ((about.st_mode & S_IWOTH) != 0 && !each_keeps_its_own)
        return "every user may write " + place.string();
    return std::nullopt;
}

// A directory of links is written by its owner too: of each link on the way, the directories above it count.
static std::optional<std::string> writer_above(const fs::path &file, uid_t owner) {
    for (fs::path above = file; above.has_relative_path();) {
        above = above.parent_path();
        if (auto found = writer_of(above, owner)) return found;
    }
    return std::nullopt;
}

std::optional<std::string> other_writer(const fs::path &file) {
    std::error_code failed;
    const fs::path without_links = fs::canonical(file, failed);
    struct stat about;
    if (failed || stat(without_links.c_str(), &about) != 0)
        return "nobody knows who may write " + file.string();
    if (auto found = writer_of(without_links, about.st_uid)) return found;
    if (auto found = writer_above(without_links, about.st_uid)) return found;
    return writer_above(fs::absolute(file).lexically_normal(), about.st_uid);
}

}  // namespace wt
