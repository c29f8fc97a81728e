#include "parts/swx/object.h"

#include <pwd.h>
#include <rte_version.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/refusal.h"
#include "host/way.h"
#include "parts/swx/compile.h"
#include "parts/swx/embedded.h"
#include "parts/swx/flags.h"
#include "parts/swx/inside.h"
#include "parts/swx/spec.h"

namespace fs = std::filesystem;

namespace wt {

namespace {

constexpr std::string_view flags = "-std=gnu11 -O3 -fPIC -shared -w -DALLOW_EXPERIMENTAL_API " WT_DPDK_CFLAGS;

std::vector<std::string> split(std::string_view words) {
    std::istringstream in{std::string(words)};
    std::vector<std::string> all;
    for (std::string word; in >> word;) all.push_back(word);
    return all;
}

// FNV-1a of 128 bits: a name for a file, not a seal.
class name_maker {
  public:
    void add(std::string_view text) {
        for (const char c : text) step(static_cast<unsigned char>(c));
        step(0);
    }
    std::string hex() const {
        char text[33];
        std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash_ >> 64),
                      static_cast<unsigned long long>(hash_));
        return text;
    }

  private:
    using uint128 = unsigned __int128;
    void step(unsigned char byte) { hash_ = (hash_ ^ byte) * ((uint128{1} << 88) + 0x13b); }
    uint128 hash_ = (uint128{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
};

bool is_ours(const fs::path &path) {
    struct stat about;
    return lstat(path.c_str(), &about) == 0 && about.st_uid == geteuid() &&
           (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Its files are run as code, so no other user may write there, or choose what is there. That is asked of the
// path as it is named, whose links canonical() does not show.
std::optional<fs::path> usable(const fs::path &directory) {
    if (!make_on_own_way(directory)) return std::nullopt;
    if (access(directory.c_str(), W_OK | X_OK) != 0) return std::nullopt;
    std::error_code failed;
    const fs::path without_links = fs::canonical(directory, failed);
    if (failed || !is_ours(without_links)) return std::nullopt;
    return without_links;
}

std::string environment(const char *name) {
    const char *value = std::getenv(name);
    return value && *value == '/' ? value : "";  // the XDG specification: relative paths are to be ignored
}

fs::path cache() {
    std::vector<fs::path> places;
    if (const auto xdg = environment("XDG_CACHE_HOME"); !xdg.empty())
        places.push_back(fs::path(xdg) / "windtunnel" / "swx");
    if (const auto home = environment("HOME"); !home.empty())
        places.push_back(fs::path(home) / ".cache/windtunnel/swx");
    if (const passwd *const user = getpwuid(geteuid()))
        places.push_back(fs::path(user->pw_dir) / ".cache/windtunnel/swx");
    // not in TMPDIR, which may be another user's
    places.push_back("/tmp/windtunnel-swx-" + std::to_string(geteuid()));
    for (const fs::path &place : places)
        if (const auto found = usable(place)) return *found;
    throw refusal("no directory for compiled specs: none of " + places.front().string() +
                      " and the other places is writable",
                  "set XDG_CACHE_HOME to a directory that you can write");
}

constexpr std::string_view workshop_name = "build-XXXXXX";

// A directory for one build, removed with all that is in it.
class workshop {
  public:
    explicit workshop(const fs::path &in) : path_((in / workshop_name).string()) {
        if (!mkdtemp(path_.data())) throw refusal(in.string() + ": no directory can be made there");
    }
    ~workshop() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    workshop(const workshop &) = delete;
    workshop &operator=(const workshop &) = delete;
    fs::path file(const std::string &name) const { return fs::path(path_) / name; }
    const std::string &path() const { return path_; }

  private:
    std::string path_;
};

bool is_workshop(const fs::directory_entry &entry) {
    std::error_code ignored;
    const std::string name = entry.path().filename().string();
    return name.size() == workshop_name.size() && name.starts_with("build-") &&
           fs::is_directory(entry.symlink_status(ignored)) && is_ours(entry.path());
}

// Those of engines that were killed while they compiled.
void sweep(const fs::path &in) {
    std::error_code ignored;
    for (const auto &entry : fs::directory_iterator(in, ignored))
        if (is_workshop(entry) &&
            fs::file_time_type::clock::now() - entry.last_write_time(ignored) > std::chrono::hours(1))
            fs::remove_all(entry.path(), ignored);
}

void write(const fs::path &file, std::string_view text) {
    fs::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    if (!out) throw refusal(file.string() + " cannot be written: is the disk full?");
}

std::string first_lines(const std::string &output, int most) {
    std::istringstream in(output);
    std::string some, line;
    for (int i = 0; i < most && std::getline(in, line); i++) some += (i ? "; " : "") + line;
    return some;
}

void compile(const std::string &spec_file, const std::string &code, const std::string &compiler,
             const fs::path &object) {
    const workshop shop(object.parent_path());
    for (size_t i = 0; i < embedded_count; i++)
        write(shop.file(embedded_files[i].name), embedded_files[i].text);
    write(shop.file("pipeline.c"), code + "\n#include \"inside/run.c\"\n");
    std::vector<std::string> words = {compiler};
    std::ranges::copy(split(flags), std::back_inserter(words));
    for (const char *word : {"-I.", "-include", "inside/guards.h", "-o", "pipeline.so", "pipeline.c"})
        words.push_back(word);
    const command_end end = run_command(words, shop.path());
    if (end.code != 0)
        throw refusal(spec_file + ": " + compiler +
                          " cannot compile the C code that DPDK generated: " + first_lines(end.output, 3),
                      "install libdpdk-dev of the DPDK that the engine was built with");
    fs::permissions(shop.file("pipeline.so"), fs::perms::owner_all);
    fs::rename(shop.file("pipeline.so"), object);
}

std::string version_of(const std::string &compiler) {
    const command_end end = run_command({compiler, "--version"}, "/");
    if (end.code != 0)
        throw refusal(compiler + " --version fails: the handler swx does not support this compiler",
                      "use gcc or clang");
    return end.output;
}

std::string name_of(const std::string &spec, const std::string &compiler) {
    name_maker name;
    name.add("windtunnel swx " + std::to_string(WT_SWX_INSIDE));
    name.add(rte_version());
    name.add(flags);
    name.add(version_of(compiler));
    for (size_t i = 0; i < embedded_count; i++) name.add(embedded_files[i].text);
    name.add(spec);
    return name.hex() + ".so";
}

}  // namespace

bool can_compile_specs() {
    return std::ranges::none_of(std::span(embedded_files, embedded_count),
                                [](const embedded_file &file) { return file.text.empty(); });
}

std::string spec_object(const std::string &spec_file, const std::string &compiler, bool afresh) {
    if (!can_compile_specs())
        throw refusal(
            "this engine was built without DPDK's headers for compiled pipelines, which no package installs",
            "engine/parts/swx/fetch fetches them; then run ./windtunnel quickstart");
    const std::string spec = read_spec(spec_file);
    const fs::path object = cache() / name_of(spec, compiler);
    if (!afresh && is_ours(object)) return object.string();
    const std::string code = generate_code(spec_file, spec);
    sweep(object.parent_path());
    compile(spec_file, code, compiler, object);
    return object.string();
}

}  // namespace wt
