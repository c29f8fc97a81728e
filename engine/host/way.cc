#include "host/way.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

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

// A part of the way, which is what was looked at whatever is put in its place.
class step {
  public:
    step(const step *from, const char *name)
        : fd_(::openat(from ? from->fd_ : AT_FDCWD, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)) {}
    step(step &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    step &operator=(step &&other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~step() {
        if (is_there()) ::close(fd_);
    }

    bool is_there() const { return fd_ >= 0; }
    int fd() const { return fd_; }
    std::string name() const { return "/proc/self/fd/" + std::to_string(fd_); }
    struct stat about() const {
        struct stat now{};
        ::fstat(fd_, &now);
        return now;
    }
    fs::path target() const {
        char text[PATH_MAX];
        const ssize_t length = ::readlinkat(fd_, "", text, sizeof text);
        return std::string(text, static_cast<size_t>(std::max<ssize_t>(length, 0)));
    }

  private:
    int fd_;
};

// The number of the mount that it is on, for which no file system is asked. Below 0: not known.
int mount_number_of(const step &at) {
    std::ifstream about("/proc/self/fdinfo/" + std::to_string(at.fd()));
    int number = -1;
    for (std::string line; std::getline(about, line);)
        if (std::sscanf(line.c_str(), "mnt_id: %d", &number) == 1) break;
    return number;
}

struct mount {
    int number;
    std::string kind;  // type of its file system, as in proc
    uid_t server = 0;  // FUSE: whose process responds for it
};

// Of white space the kernel escapes blanks, tabs and line feeds alone, and who mounts chooses the source.
// Source: proc_pid_mountinfo(5), fuse_show_options of Linux.
std::optional<mount> mount_of(int number) {
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        mount one{};
        const size_t dash = line.find(" - ");
        if (std::sscanf(line.c_str(), "%d", &one.number) != 1 || one.number != number || dash == line.npos)
            continue;
        std::istringstream fields(line.substr(dash + 3));
        std::string source;
        std::getline(std::getline(fields, one.kind, ' '), source, ' ');
        if (!one.kind.starts_with("fuse")) return one;
        for (std::string option; std::getline(fields, option, ',');)
            if (std::sscanf(option.c_str(), "user_id=%u", &one.server) == 1) break;
        return one;
    }
    return std::nullopt;
}

// With an access list (acl(5)) the group's bits are the most that the list gives anybody.
bool has_access_list(const step &at) {
    return ::getxattr(at.name().c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

bool others_may_write(const step &at, const struct stat &about) {
    const bool each_keeps_its_own = S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0;
    if (each_keeps_its_own || !(S_ISDIR(about.st_mode) || S_ISREG(about.st_mode))) return false;
    return (about.st_mode & S_IWOTH) != 0 ||
           ((about.st_mode & S_IWGRP) != 0 &&
            (has_access_list(at) || !is_alone_in(about.st_gid, about.st_uid)));
}

// A walk to a place, from the root, step by step.
class walk {
  public:
    walk(const fs::path &place, std::optional<uid_t> owner) : owner_(owner) {
        push(fs::absolute(place));
        while (look_.is_there && !left_.empty()) next();
    }
    const way_look &look() const { return look_; }
    // Whether it is there, and nobody else can put something in its place.
    bool is_own() const { return look_.is_there && !look_.other; }
    const step &end() const { return here_; }

  private:
    void push(const fs::path &path) {
        std::vector<fs::path> parts(path.begin(), path.end());
        left_.insert(left_.end(), parts.rbegin(), parts.rend());
    }
    void end_before(std::optional<std::string> other = std::nullopt) {
        look_ = {.other = std::move(other), .is_there = false};
    }

    void next() {
        const fs::path part = left_.back();
        left_.pop_back();
        const bool is_root = part == "/";
        const fs::path way = way_ / part;  // "/" begins anew
        step there(is_root ? nullptr : &here_, is_root ? "/" : part.empty() ? "." : part.c_str());
        if (!there.is_there() && (errno == ENOENT || errno == ENOTDIR)) return end_before();
        if (!there.is_there()) return end_before(way.string() + ": " + std::strerror(errno));
        enter(there, way, is_root);
        if (!look_.is_there) return;
        const struct stat about = there.about();
        // in a user namespace without root it looks like another user
        if (is_root) root_ = about.st_uid;
        if (about.st_uid != root_ && about.st_uid != geteuid() && about.st_uid != owner_)
            return end_before(way.string() + " is of user " + std::to_string(about.st_uid));
        if (others_may_write(there, about)) return end_before("other users may write " + way.string());
        if (S_ISLNK(about.st_mode)) return follow(there, way);
        here_ = std::move(there);
        way_ = way;
    }

    void follow(const step &link, const fs::path &way) {
        if (mount_.kind == "proc")
            return end_before(way.string() + " is a link of /proc, which leads where a process decides");
        if (links_++ == most_links) return end_before(way.string() + ": " + std::strerror(ELOOP));
        push(link.target());
    }

    // No file system is asked that another user serves: it may never respond, and says of what it has that it
    // is whose it likes.
    void enter(const step &there, const fs::path &way, bool is_root) {
        const int number = mount_number_of(there);
        if (number < 0) return end_before(way.string() + ": the kernel does not say on which mount it is");
        if (is_root) of_root_ = number;  // it is not in the list of a changed root
        if (number == of_root_) mount_ = {number, ""};
        if (number == mount_.number) return;
        const std::optional<mount> entered = mount_of(number);
        if (!entered) return end_before(way.string() + " is on a file system that was unmounted meanwhile");
        if (entered->server != 0 && entered->server != geteuid())
            return end_before(way.string() + " is on a file system that a process of user " +
                              std::to_string(entered->server) + " serves");
        mount_ = *entered;
    }

    const std::optional<uid_t> owner_;
    uid_t root_ = 0;
    way_look look_{.other = std::nullopt, .is_there = true};
    std::vector<fs::path> left_;  // the next part last
    int links_ = 0;
    step here_{nullptr, "/"};
    fs::path way_;
    mount mount_{-1, ""};
    int of_root_ = -1;
};

}  // namespace

way_look look_at_way(const fs::path &place, std::optional<uid_t> owner) { return walk(place, owner).look(); }

bool make_on_own_way(const fs::path &directory) {
    std::vector<fs::path> missing;
    for (fs::path place = fs::absolute(directory);; place = place.parent_path()) {
        const walk there(place, std::nullopt);
        if (there.look().other) return false;
        if (there.look().is_there) break;
        missing.push_back(place);
    }
    for (auto place = missing.rbegin(); place != missing.rend(); ++place) {
        const walk parent(place->parent_path(), std::nullopt);
        if (!parent.is_own()) return false;
        if (::mkdirat(parent.end().fd(), place->filename().c_str(), S_IRWXU) != 0 && errno != EEXIST)
            return false;
    }
    return walk(directory, std::nullopt).is_own();
}

}  // namespace wt
