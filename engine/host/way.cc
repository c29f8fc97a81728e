#include "host/way.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace wt {

namespace fs = std::filesystem;

namespace {

constexpr int most_links = 40;  // on the way, as the kernel's MAXSYMLINKS

// Whether nobody else is in that group but root: many a system makes each user one.
bool is_alone_in(gid_t group, uid_t user) {
    const struct group *const entry = ::getgrgid(group);
    if (entry == nullptr) return false;  // it may have any members
    const auto is_other = [&](const passwd *member) {
        return member != nullptr && member->pw_uid != user && member->pw_uid != 0;
    };
    for (char **name = entry->gr_mem; *name != nullptr; name++)
        if (is_other(::getpwnam(*name))) return false;
    bool alone = true;
    ::setpwent();
    while (const passwd *const one = ::getpwent()) alone = alone && !(one->pw_gid == group && is_other(one));
    ::endpwent();
    return alone;
}

// With an access list (acl(5)) the group's bits are the most that the list gives anybody.
bool has_access_list(const fs::path &way) {
    return ::lgetxattr(way.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

bool others_may_write(const fs::path &way, const struct stat &about) {
    const bool each_keeps_its_own = S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0;
    if (each_keeps_its_own || !(S_ISDIR(about.st_mode) || S_ISREG(about.st_mode))) return false;
    return (about.st_mode & S_IWOTH) != 0 ||
           ((about.st_mode & S_IWGRP) != 0 &&
            (has_access_list(way) || !is_alone_in(about.st_gid, about.st_uid)));
}

uid_t root_here() {
    struct stat about{};
    ::stat("/", &about);  // in a user namespace without root it looks like another user
    return about.st_uid;
}

way_look look_at_way(const fs::path &place, std::optional<uid_t> owner, int links) {
    const uid_t root = root_here();
    fs::path way;
    for (const fs::path &part : fs::absolute(place)) {
        way /= part;
        struct stat about{};
        if (::lstat(way.c_str(), &about) != 0) {
            if (errno == ENOENT || errno == ENOTDIR) return {std::nullopt, false};
            return {way.string() + ": " + std::strerror(errno), false};
        }
        if (about.st_uid != root && about.st_uid != geteuid() && about.st_uid != owner)
            return {way.string() + " is of user " + std::to_string(about.st_uid), true};
        if (others_may_write(way, about)) return {"other users may write " + way.string(), true};
        if (!S_ISLNK(about.st_mode)) continue;
        if (links == 0) return {way.string() + ": " + std::strerror(ELOOP), false};
        std::error_code gone;
        const fs::path target = way.parent_path() / fs::read_symlink(way, gone);
        const way_look beyond = look_at_way(target, owner, links - 1);
        if (beyond.other || !beyond.is_there) return beyond;
    }
    return {std::nullopt, true};
}

}  // namespace

way_look look_at_way(const fs::path &place, std::optional<uid_t> owner) {
    return look_at_way(place, owner, most_links);
}

}  // namespace wt
