// A workload of a plan: its sizes, its load and its handlers.
#include "plan/parts.h"

namespace wt {

namespace {

constexpr const char *arrival_words[] = {"constant", "poisson"};
constexpr const char *size_words[] = {"sequence", "uniform", "weighted"};
constexpr const char *load_words[] = {"closed", "open"};
constexpr uint64_t most_extra_ticks = 1'000'000'000;  // a worker waits for those of a whole burst in one go

handler_plan read_handler(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return handler_plan{.name = o["name"].text(), .options = o["options"].texts_by_name()};
    });
}

constexpr double most_real = std::numeric_limits<double>::max();

load_phase_plan read_load_phase(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return load_phase_plan{.length_ns = o["length_ns"].optional(length),
                               .rate_per_s = o["rate_per_s"].real(0, most_real),
                               .arrivals = word<arrivals>(o["arrivals"], arrival_words),
                               .on_ns = o["on_ns"].optional(length),
                               .off_ns = o["off_ns"].optional(length)};
    });
}

load_plan read_load(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return load_plan{.open = o["mode"].word(load_words) == 1,
                         .phases = o["phases"].list(read_load_phase),
                         .lead = o["lead"].whole<uint32_t>()};
    });
}

sizes_plan read_sizes(const json_value &v) {
    return read_object(v, [](json_object &o) {
        const auto size = [](const json_value &b) { return b.whole<uint32_t>(16, max_message_bytes); };
        const auto weight = [](const json_value &w) { return w.real(0, most_real); };
        return sizes_plan{.kind = word<size_kind>(o["kind"], size_words),
                          .bytes = o["bytes"].list(size, 1),
                          .weights = o["weights"].list(weight)};
    });
}

}  // namespace

workload_plan read_workload(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return workload_plan{.name = o["name"].text(),
                             .request_bytes = o["request_bytes"].whole<uint32_t>(16, max_message_bytes),
                             .response_bytes = o["response_bytes"].whole<uint32_t>(16, max_message_bytes),
                             .request_sizes = o["request_sizes"].optional(read_sizes),
                             .response_sizes = o["response_sizes"].optional(read_sizes),
                             .handler = o["handler"].optional(read_handler),
                             .packet_handler = o["packet_handler"].optional(read_handler),
                             .scan = o["scan"].truth(),
                             .extra_ticks = o["extra_ticks"].whole<uint64_t>(0, most_extra_ticks),
                             .timeout_ns = length(o["timeout_ns"]),
                             .load = o["load"].optional(read_load),
                             .client_applications = o["client_applications"].whole<uint32_t>(0, 65535),
                             .client_slots = o["client_slots"].whole<uint32_t>()};
    });
}

}  // namespace wt
