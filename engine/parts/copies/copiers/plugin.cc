#include "parts/copies/copiers/plugin.h"

#include <rte_branch_prediction.h>

#include <algorithm>
#include <utility>

#include "core/refusal.h"
#include "handlers/loading/open_error.h"
#include "handlers/loading/options.h"
#include "handlers/loading/shared_object.h"

namespace wt {

namespace {

constexpr plugin_kind copiers{.noun = "copier",
                              .symbol = "wt_copier",
                              .header = "windtunnel/copier.h",
                              .example = "plugins/copier",
                              .abi = WT_COPIER_ABI,
                              .size = sizeof(wt_copier)};

struct plugin {
    copier_table table;
    void *state;
    uint32_t running = 0;  // copies that it has taken and not reported
    // the rule that it has broken, the number that it gave, and the most that this may be; null: none
    const char *broken = nullptr;
    uint32_t given = 0, most = 0;
};

// Whether a number that it gives may be; it is not called again otherwise.
bool is_within(plugin &p, uint32_t given, uint32_t most, const char *rule) {
    if (likely(given <= most)) return true;
    p.broken = rule;
    p.given = given;
    p.most = most;
    return false;
}

// If a copier takes too many, nobody knows which of its copies run: none of these ends. What copies in the
// call runs none: the CPU copies all of it again.
uint32_t submit(void *state, const copy_piece *pieces, uint32_t count) {
    plugin &p = *static_cast<plugin *>(state);
    if (unlikely(p.broken != nullptr)) return 0;
    uint32_t taken = p.table->submit(p.state, pieces, count);
    if (!is_within(p, taken, count, "`submit` took more copies than there were"))
        taken = p.table->completed ? count : 0;
    p.running += taken;
    return taken;
}

uint32_t completed(void *state, copy_end *ends, uint32_t most) {
    plugin &p = *static_cast<plugin *>(state);
    if (unlikely(p.broken != nullptr)) return 0;
    auto *const written = reinterpret_cast<uint8_t *>(ends);
    const uint32_t count = p.table->completed(p.state, written, most);
    if (!is_within(p, count, std::min(most, p.running),
                   "`completed` reported more copies than could have ended"))
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (!is_within(p, written[i], WT_COPY_FAILED, "`completed` wrote an end that is none")) return 0;
    p.running -= count;
    return count;
}

uint32_t completed_at_once(void *state, copy_end *ends, uint32_t most) {
    plugin &p = *static_cast<plugin *>(state);
    const uint32_t count = std::min(most, p.running);
    std::fill_n(ends, count, copy_end::well);
    p.running -= count;
    return count;
}

void close(void *state) {
    const std::unique_ptr<plugin> p(static_cast<plugin *>(state));
    if (p->table->close) p->table->close(p->state);
}

std::string breach(const void *state) {
    const plugin &p = *static_cast<const plugin *>(state);
    if (p.broken == nullptr) return "";
    return std::string(p.broken) + ": " + std::to_string(p.given) + ", and " + std::to_string(p.most) +
           " is the most";
}

void *open_state(const std::string &path, const wt_copier &table, const copier_end &end) {
    const std::vector<wt_value> values = resolve_options(path, options_of(table.options), end.options);
    open_error error;
    wt_copier_open about{.abi = WT_COPIER_ABI,
                         .size = sizeof(wt_copier_open),
                         .application = end.application,
                         .depth = end.depth,
                         .option_count = static_cast<uint32_t>(values.size()),
                         .options = values.data(),
                         .seed = end.seed,
                         .error = error.message,
                         .error_size = sizeof error.message};
    void *state = nullptr;
    error.check(path, table.open(&about, &state));
    return state;
}

}  // namespace

copier_table load_copier(const std::string &path) {
    copier_table table = std::static_pointer_cast<const wt_copier>(load_table(copiers, path));
    const auto require_it = [&](bool there, const std::string &what) {
        require(copiers, there, "copier " + path, what);
    };
    require_it(table->name && *table->name, "the copier has no name");
    require_it(table->help, "the copier has no help");
    require_it(table->kind == WT_COPIER_CORE || table->kind == WT_COPIER_HARDWARE,
               "kind " + std::to_string(table->kind) + " is neither WT_COPIER_CORE nor WT_COPIER_HARDWARE");
    require_it(table->most_depth, "its `most_depth` is 0: it would take no copy");
    require_it(table->open, "the hook `open` is missing");
    require_it(table->submit, "the hook `submit` is missing");
    check_options(copiers, "copier " + path, table->options);
    return table;
}

copy_channel open_plugin(const std::string &path, copier_table table, const copier_end &end) {
    void *const state = open_state(path, *table, end);
    const bool at_once = table->completed == nullptr;
    copy_channel c{.submit = submit,
                   .completed = at_once ? completed_at_once : completed,
                   .close = close,
                   .breach = breach};
    c.kind = table->kind == WT_COPIER_HARDWARE ? copier_kind::hardware : copier_kind::core;
    c.immediate = at_once;
    c.device = table->name;
    c.state = new plugin{.table = std::move(table), .state = state};
    return c;
}

}  // namespace wt
