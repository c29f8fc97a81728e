// What many suites need, whatever they test.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/refusal.h"

namespace wt::test {

// The words of the refusal that `action` ends in; "" where it ends well. Any other exception fails the test.
template <class callable>
std::string refusal_of(callable &&action) {
    try {
        action();
    } catch (const refusal &why) {
        return why.what();
    }
    return "";
}

// The remedy of that refusal.
template <class callable>
std::string remedy_of(callable &&action) {
    try {
        action();
    } catch (const refusal &why) {
        return why.remedy();
    }
    return "";
}

inline bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

// Whether everything is to be tried, and not what covers it: in the suite `long` of Meson.
inline bool is_long() { return std::getenv("WT_LONG") != nullptr; }

// An empty directory that goes with its test.
class temporary_directory {
  public:
    temporary_directory() : path_((std::filesystem::temp_directory_path() / "wt-test-XXXXXX").string()) {
        if (!mkdtemp(path_.data())) std::abort();
    }
    ~temporary_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_directory(const temporary_directory &) = delete;
    temporary_directory &operator=(const temporary_directory &) = delete;
    operator std::filesystem::path() const { return path_; }
    std::filesystem::path operator/(const std::string &name) const {
        return std::filesystem::path(path_) / name;
    }
    const std::string &string() const { return path_; }

  private:
    std::string path_;
};

// As long as it lives, no file of this process grows beyond `bytes`: a write fails as on a full disk, in the
// middle of what is written.
class full_disk {
  public:
    explicit full_disk(rlim_t bytes) {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit tight = {bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &tight);
    }
    ~full_disk() { setrlimit(RLIMIT_FSIZE, &before_); }

  private:
    rlimit before_;
};

}  // namespace wt::test
