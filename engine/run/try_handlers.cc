#include "run/try_handlers.h"

#include <optional>

#include "core/message.h"
#include "handlers/applications/opening.h"
#include "run/endpoints.h"

namespace wt {

namespace {

constexpr uint64_t most_touched = 256 << 20;  // bytes: what a handler takes may be all that the host has

// A request as the client would write it; zeros where its handler writes none.
std::vector<uint8_t> one_request(const run_state &f, const handler_use &use, const wt_handler &table) {
    const workload_plan &w = f.plan.workloads[use.workload];
    std::vector<uint8_t> body(w.request_bytes - message_header_bytes);
    if (table.request == nullptr) return body;
    wt_open about = about_handler(f, use);
    about.role = WT_CLIENT;
    const opened_handler client(handler_named(use.kind, use.handler->name), about, use.handler->options);
    const wt_segment segment{body.data(), static_cast<uint32_t>(body.size())};
    const wt_message request{&segment, 1, segment.length};
    table.request(client.state(), &request, 1);
    return body;
}

// Bytes of the response to one request, message header included; null: it sends none.
std::optional<uint32_t> response_bytes(const run_state &f, const handler_use &use, const wt_handler &table,
                                       void *state) {
    std::vector<uint8_t> request = one_request(f, use, table);
    std::vector<uint8_t> response(f.plan.workloads[use.workload].response_bytes - message_header_bytes);
    const wt_segment in{request.data(), static_cast<uint32_t>(request.size())};
    const wt_segment out{response.data(), static_cast<uint32_t>(response.size())};
    wt_exchange exchange{
        {&in, 1, in.length}, {&out, 1, out.length}, nullptr, static_cast<uint16_t>(use.workload), 0, 0};
    table.message(state, &exchange, 1);
    if (exchange.flags & WT_NO_RESPONSE) return std::nullopt;
    return std::min(exchange.response.length, out.length) + message_header_bytes;
}

void try_one(run_state &f, const handler_use &use) {
    void *state = nullptr;
    handler_steps *steps = nullptr;
    const wt_handler *const table = open_handler(f, use, &state, &steps);
    if (table == nullptr || use.kind != WT_MESSAGE_HANDLER || use.stage.stage != stage_kind::app_rx) return;
    if (wt_left_untouched()) return;  // it does not have the data that it would respond with
    f.lines.phase("calling " + use.handler->name);
    const std::optional<uint32_t> bytes = response_bytes(f, use, *table, state);
    f.lines.write({{"type", "handler"},
                   {"workload", use.workload},
                   {"name", use.handler->name},
                   {"response_bytes", bytes ? json(*bytes) : json()}});
}

}  // namespace

void try_handlers(run_state &f) {
    wt_touch_at_most(most_touched);
    for (uint32_t e = 0; e < f.plan.endpoints.size(); e++) {
        const endpoint_plan &plan = f.plan.endpoints[e];
        for (uint32_t i = 0; i < plan.applications.size(); i++)
            if (const auto use = handler_of_application(f.plan, e, i)) try_one(f, *use);
        for (uint32_t i = 0; i < plan.dispatchers.size(); i++)
            if (const auto use = handler_of_dispatcher(f.plan, e, i)) try_one(f, *use);
    }
}

}  // namespace wt
