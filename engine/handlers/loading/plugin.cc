#include "handlers/loading/plugin.h"

#include "core/refusal.h"
#include "handlers/loading/registry.h"
#include "handlers/loading/shared_object.h"

namespace wt {

static constexpr plugin_kind handlers{.noun = "handler",
                                      .symbol = "wt_handler",
                                      .header = "windtunnel/handler.h",
                                      .example = "plugins/skeleton",
                                      .abi = WT_HANDLER_ABI,
                                      .size = sizeof(wt_handler)};

void check_table(const std::string &who, const wt_handler &table) {
    const auto require_it = [&](bool there, const std::string &what) { require(handlers, there, who, what); };
    check_layout(handlers, who, table.abi, table.size);
    require_it(table.name && *table.name, "the handler has no name");
    require_it(table.help, "the handler has no help");
    require_it(table.kind == WT_MESSAGE_HANDLER || table.kind == WT_PACKET_HANDLER,
               "kind " + std::to_string(table.kind) + " is neither WT_MESSAGE_HANDLER nor WT_PACKET_HANDLER");
    require_it(table.open, "the hook `open` is missing");
    require_it(table.kind != WT_MESSAGE_HANDLER || table.message,
               "the hook `message` is missing: a message handler must have it");
    require_it(table.kind != WT_PACKET_HANDLER || table.packet,
               "the hook `packet` is missing: a packet handler must have it");
    require_it(!table.counters == !table.read_counters, "`counters` and `read_counters` must both be set");
    check_options(handlers, who, table.options);
}

handler_table load_plugin(const std::string &path) {
    handler_table table = std::static_pointer_cast<const wt_handler>(load_table(handlers, path));
    check_table("handler " + path, *table);
    return table;
}

static std::string known_names(wt_kind kind) {
    std::string names;
    for (const wt_handler *table : all_handlers())
        if (table->kind == kind) names += (names.empty() ? "" : ", ") + std::string(table->name);
    return names;
}

handler_table handler_named(wt_kind kind, const std::string &name) {
    if (!is_path(name)) {
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
