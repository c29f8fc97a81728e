#include "handlers/loading/plugin.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/refusal.h"
#include "handlers/loading/options.h"
#include "handlers/loading/registry.h"
#include "host/way.h"

namespace wt {

static const char *const rebuild = "rebuild it against this engine's windtunnel/handler.h";

// Before anything else of the table is believed: another ABI may have laid it out in another way.
static void check_layout(const std::string &who, const wt_handler &table) {
    if (table.abi != WT_HANDLER_ABI)
        throw refusal(who + " was built for handler ABI " + std::to_string(table.abi) + ", this engine has " +
                          std::to_string(WT_HANDLER_ABI),
                      rebuild);
    if (table.size != sizeof(wt_handler))
        throw refusal(who + ": its table says it has " + std::to_string(table.size) +
                          " bytes, this engine's has " + std::to_string(sizeof(wt_handler)),
                      std::string("set .size = sizeof(struct wt_handler) and ") + rebuild);
}

static void require(bool there, const std::string &who, const std::string &what) {
    if (!there) throw refusal(who + ": " + what, "windtunnel/handler.h says what is required of a handler");
}

static void check_options(const std::string &who, const wt_handler &table) {
    for (const wt_option &option : options_of(table.options)) {
        const std::string its = std::string("option ") + option.name;
        require(option.help, who, its + " has no help");
        require(option.fallback, who, its + " has no fallback");
        require(option_type_name(option.type), who,
                its + " has an unknown type: " + std::to_string(option.type));
        require(option.type != WT_CHOICE || option.choices, who, its + " is a choice without choices");
        check_option_value(who, option, option.fallback);
    }
}

void check_table(const std::string &who, const wt_handler &table) {
    check_layout(who, table);
    require(table.name && *table.name, who, "the handler has no name");
    require(table.help, who, "the handler has no help");
    require(table.kind == WT_MESSAGE_HANDLER || table.kind == WT_PACKET_HANDLER, who,
            "kind " + std::to_string(table.kind) + " is neither WT_MESSAGE_HANDLER nor WT_PACKET_HANDLER");
    require(table.open, who, "the hook `open` is missing");
    require(table.kind != WT_MESSAGE_HANDLER || table.message, who,
            "the hook `message` is missing: a message handler must have it");
    require(table.kind != WT_PACKET_HANDLER || table.packet, who,
            "the hook `packet` is missing: a packet handler must have it");
    require(!table.counters == !table.read_counters, who, "`counters` and `read_counters` must both be set");
    check_options(who, table);
}

handler_table load_plugin(const std::string &path) {
    // without a slash dlopen would search the library path
    const auto file = std::filesystem::absolute(path);
    struct stat about;
    if (stat(file.c_str(), &about) != 0)
        throw refusal("handler " + path + ": no such file",
                      "the path is relative to the scenario's directory");
    if (const auto other = other_writer(file, about.st_uid))
        throw refusal("handler " + path + " is not opened: " + *other,
                      "keep it in a directory that only its owner and root can change");
    const std::shared_ptr<void> object(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL), [](void *handle) {
        if (handle) dlclose(handle);
    });
    if (!object)
        throw refusal("handler " + path + " cannot be loaded: " + dlerror(),
                      "a shared object for this machine: plugins/skeleton shows how to build one");
    const auto *table = static_cast<const wt_handler *>(dlsym(object.get(), "wt_handler"));
    const std::string who = "handler " + path;
    require(table, who, "it has no symbol `wt_handler`");
    check_table(who, *table);
    return {object, table};
}

static std::string known_names(wt_kind kind) {
    std::string names;
    for (const wt_handler *table : all_handlers())
        if (table->kind == kind) names += (names.empty() ? "" : ", ") + std::string(table->name);
    return names;
}

handler_table handler_named(wt_kind kind, const std::string &name) {
    if (name.find('/') == std::string::npos) {
        if (const wt_handler *table = find_handler(kind, name)) return {std::shared_ptr<void>(), table};
        throw refusal(std::string("no ") + kind_name(kind) + " handler is called '" + name + "'; there are " +
                          known_names(kind),
                      "name your own handler by its path: ./" + name + ".so");
    }
    handler_table loaded = load_plugin(name);
    if (loaded->kind != kind)
        throw refusal("handler " + name + " is a " + kind_name(loaded->kind) + " handler; a " +
                          kind_name(kind) + " handler is needed here",
                      kind == WT_MESSAGE_HANDLER ? "name it under packet_handler" : "name it under handler");
    return loaded;
}

}  // namespace wt
