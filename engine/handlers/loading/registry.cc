#include "handlers/loading/registry.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "handlers/loading/options.h"
#include "parts/registry.h"

extern "C" {
extern const wt_handler wt_empty_message, wt_t_app, wt_l_app, wt_m_app, wt_fs_write, wt_fs_read, wt_kv,
    wt_decompress;
extern const wt_handler wt_empty_packet, wt_echo, wt_l2fwd, wt_drop, wt_work;
}

namespace wt {

std::span<const wt_handler *const> all_handlers() {
    static const auto all = [] {
        std::vector<const wt_handler *> list = {
            &wt_empty_message, &wt_t_app,        &wt_l_app, &wt_m_app, &wt_fs_write, &wt_fs_read, &wt_kv,
            &wt_decompress,    &wt_empty_packet, &wt_echo,  &wt_l2fwd, &wt_drop,     &wt_work};
        for (const part *p : all_parts()) list.insert(list.end(), p->handlers.begin(), p->handlers.end());
        return list;
    }();
    return all;
}

const wt_handler *find_handler(wt_kind kind, std::string_view name) {
    const auto all = all_handlers();
    const auto found = std::ranges::find_if(
        all, [&](const wt_handler *table) { return table->kind == kind && table->name == name; });
    return found == all.end() ? nullptr : *found;
}

void print_handlers(std::FILE *out, std::span<const wt_handler *const> handlers) {
    auto list = nlohmann::ordered_json::array();
    for (const wt_handler *table : handlers) {
        auto options = nlohmann::ordered_json::array();
        for (const wt_option &option : options_of(table->options)) options.push_back(option_json(option));
        list.push_back({{"name", table->name},
                        {"kind", kind_name(table->kind)},
                        {"help", table->help},
                        {"names_copies", (table->flags & WT_NAMES_COPIES) != 0},
                        {"checks", table->check != nullptr},
                        {"options", options}});
    }
    // a plug-in's words may be in any encoding: what is not UTF-8 is replaced, not refused
    const std::string text = list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    std::fprintf(out, "%s\n", text.c_str());
}

}  // namespace wt
