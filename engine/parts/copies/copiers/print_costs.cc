#include "parts/copies/copiers/print_costs.h"

#include <rte_cycles.h>
#include <rte_malloc.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/eal_memory.h"
#include "core/random_bytes.h"
#include "core/refusal.h"
#include "parts/copies/copiers/costs.h"
#include "parts/copies/copiers/registry.h"
#include "parts/copies/copiers/trip.h"
#include "plan/json_reader.h"
#include "plan/readers.h"
#include "report/lines.h"

namespace wt {

namespace {

constexpr uint64_t patience_ns = 1'000'000'000, seed = 1;

eal_memory area(uint64_t bytes) {
    eal_memory found(static_cast<uint8_t *>(rte_malloc("costs of copies", bytes, RTE_CACHE_LINE_SIZE)));
    if (!found) throw refusal("no " + std::to_string(bytes) + " bytes of memory for copies");
    random_bytes_fill(seed, found.get(), bytes);
    return found;
}

// Closes at the end of its room.
struct opened {
    copy_channel channel;
    ~opened() { channel.close(channel.state); }
};

// The way to the copier's thread and back, ns; null where it has none.
json trip_ns(const copy_channel &channel, const uint8_t *from, uint8_t *to, double ns_per_tick) {
    if (!channel.thread) return json();
    const auto patience = static_cast<uint64_t>(patience_ns / ns_per_tick);
    const copy_trip trip = measure_trip(channel, from, to, rte_rdtsc() + patience);
    if (trip.ticks == 0) throw refusal("the copier " + channel.device + " does not end its copies");
    return trip.ticks * ns_per_tick;
}

}  // namespace

copy_costs_asked read_copy_costs_asked(const std::string &text) {
    try {
        const auto j = nlohmann::ordered_json::parse(text);
        copy_costs_asked a{j.at("eal"),
                           j.at("engine"),
                           j.at("options"),
                           j.at("depth"),
                           j.at("batch"),
                           j.at("rounds"),
                           j.at("area_bytes"),
                           j.at("sizes"),
                           json_value(j.at("model"), "model").optional(read_modelled_engine)};
        const bool fits = std::ranges::all_of(
            a.sizes, [&](uint32_t bytes) { return bytes >= trip_bytes && bytes <= a.area_bytes; });
        if (!fits || a.depth < 1 || a.batch < 1 || a.rounds < 1)
            throw refusal("a size below 64 bytes or above the area, or a depth, a batch or rounds of 0");
        return a;
    } catch (const nlohmann::ordered_json::exception &error) {
        throw refusal(std::string("what is asked of copies: ") + error.what());
    }
}

void print_copy_costs(std::FILE *out, const copy_costs_asked &asked) {
    const double hz = measure_tsc_hz(), ns_per_tick = 1e9 / hz;
    const opened copier{open_copier(asked.engine, {.application = 0,
                                                   .depth = asked.depth,
                                                   .options = asked.options,
                                                   .lcores = {1},
                                                   .seed = seed,
                                                   .ticks_per_ns = 1 / ns_per_tick,
                                                   .model = asked.model ? &*asked.model : nullptr})};
    const copy_channel &channel = copier.channel;
    const eal_memory from = area(asked.area_bytes), to = area(asked.area_bytes);
    print_line(out, {{"type", "copier"},
                     {"engine", asked.engine},
                     {"kind", copier_kind_names[static_cast<int>(channel.kind)]},
                     {"device", channel.device},
                     {"cpu", channel.cpu < 0 ? json() : json(channel.cpu)},
                     {"tsc_hz", static_cast<uint64_t>(hz + 0.5)},
                     {"trip_ns", trip_ns(channel, from.get(), to.get(), ns_per_tick)}});
    const auto patience = static_cast<uint64_t>(patience_ns / ns_per_tick);
    for (const uint32_t bytes : asked.sizes) {
        for (const bool hot : {false, true}) {
            const uint64_t room = hot ? bytes : asked.area_bytes;
            const copy_areas areas{{from.get(), room}, {to.get(), room}};
            check_copy(channel, areas, bytes, patience);  // one that does nothing would look fast
            const copy_costs costs =
                measure_costs(channel, areas, bytes, asked.batch, asked.depth, asked.rounds, patience);
            print_line(out, {{"type", "costs"},
                             {"bytes", bytes},
                             {"hot", hot},
                             {"cpu_cycles", costs.cpu},
                             {"caller_cycles", costs.caller},
                             {"copier_cycles", costs.copier}});
        }
    }
    print_line(out, {{"type", "end"}, {"trip_ns", trip_ns(channel, from.get(), to.get(), ns_per_tick)}});
}

}  // namespace wt
