#include "handlers/loading/shared_object.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/refusal.h"
#include "handlers/loading/options.h"
#include "host/way.h"

namespace wt {

void check_layout(const plugin_kind &kind, const std::string &who, uint32_t abi, uint32_t size) {
    const std::string rebuild = std::string("rebuild it against this engine's ") + kind.header;
    if (abi != kind.abi)
        throw refusal(who + " was built for " + kind.noun + " ABI " + std::to_string(abi) +
                          ", this engine has " + std::to_string(kind.abi),
                      rebuild);
    if (size != kind.size)
        throw refusal(who + ": its table says it has " + std::to_string(size) + " bytes, this engine's has " +
                          std::to_string(kind.size),
                      std::string("set .size = sizeof(struct ") + kind.symbol + ") and " + rebuild);
}

void require(const plugin_kind &kind, bool there, const std::string &who, const std::string &what) {
    if (!there)
        throw refusal(who + ": " + what,
                      std::string(kind.header) + " says what is required of a " + kind.noun);
}

void check_options(const plugin_kind &kind, const std::string &who, const wt_option *list) {
    for (const wt_option &option : options_of(list)) {
        const std::string its = std::string("option ") + option.name;
        require(kind, option.help, who, its + " has no help");
        require(kind, option.fallback, who, its + " has no fallback");
        require(kind, option_type_name(option.type), who,
                its + " has an unknown type: " + std::to_string(option.type));
        require(kind, option.type != WT_CHOICE || option.choices, who, its + " is a choice without choices");
        check_option_value(who, option, option.fallback);
    }
}

std::shared_ptr<const void> load_table(const plugin_kind &kind, const std::string &path) {
    const std::string who = std::string(kind.noun) + " " + path;
    // without a slash dlopen would search the library path
    const auto file = std::filesystem::absolute(path);
    struct stat about;
    if (stat(file.c_str(), &about) != 0)
        throw refusal(who + ": no such file", "the path is relative to the scenario's directory");
    const auto [other, is_there] = look_at_way(file, about.st_uid);
    if (other || !is_there)
        throw refusal(who + " is not opened: " + other.value_or("it was taken away meanwhile"),
                      "keep it in a directory that only its owner and root can change");
    const std::shared_ptr<void> object(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL), [](void *handle) {
        if (handle) dlclose(handle);
    });
    if (!object)
        throw refusal(
            who + " cannot be loaded: " + dlerror(),
            std::string("a shared object for this machine: ") + kind.example + " shows how to build one");
    const auto *const table = static_cast<const uint32_t *>(dlsym(object.get(), kind.symbol));
    require(kind, table, who, std::string("it has no symbol `") + kind.symbol + "`");
    check_layout(kind, who, table[0], table[1]);
    return {object, table};
}

}  // namespace wt
