// `swx`: runs a DPDK SWX pipeline, as p4c-dpdk writes it, on each burst.
#include <windtunnel/handler.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <string>

#include "core/refusal.h"
#include "parts/swx/counted.h"
#include "parts/swx/pipeline.h"

extern "C" {
#include "handlers/applications/opening.h"
extern const wt_handler wt_swx;
}

namespace {

using wt::pipeline;
using wt::refusal;
using wt::spec_plan;

struct swx {
    pipeline switched;
    wt::counted_pipeline counted;
    wt_step *const *steps;

    explicit swx(const wt_open *open, const spec_plan &plan)
        : switched(plan), counted(switched), steps(open->steps) {}
};

constexpr uint32_t most_ports = 256;

std::optional<uint32_t> host_port(const std::string &text, uint32_t ports) {
    if (text.empty()) return std::nullopt;
    uint32_t port = 0;
    const auto [stopped, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (failed != std::errc() || stopped != text.data() + text.size() || port >= ports)
        throw refusal("host = \"" + text + "\" is none of the pipeline's ports 0 to " +
                      std::to_string(ports - 1));
    return port;
}

spec_plan plan_of(const wt_open *open) {
    const uint64_t ports = wt_number(open, "ports");
    if (ports == 0 || ports > most_ports)
        throw refusal("ports = " + std::to_string(ports) + " is not from 1 to " + std::to_string(most_ports));
    spec_plan plan{wt_text(open, "spec"),
                   wt_text(open, "tables"),
                   wt_text(open, "compiler"),
                   static_cast<uint32_t>(ports),
                   host_port(wt_text(open, "host"), static_cast<uint32_t>(ports)),
                   open->numa_socket};
    if (plan.spec.empty())
        throw refusal("the option spec is empty", "spec = \"router.spec\", as p4c-dpdk writes it");
    if (plan.compiler.empty()) throw refusal("the option compiler is empty", "compiler = \"gcc\"");
    return plan;
}

int swx_open(const wt_open *open, void **state) {
    try {
        *state = new swx(open, plan_of(open));
        return 0;
    } catch (const refusal &why) {
        return wt_refuse(open, "%s%s%s", why.what(), why.remedy().empty() ? "" : "; ", why.remedy().c_str());
    } catch (const std::exception &why) {
        return wt_refuse(open, "%s", why.what());
    }
}

void say(uint64_t packets, const char *what) {
    if (packets > 0)
        std::fprintf(stderr, "swx: %llu packets dropped: %s\n", static_cast<unsigned long long>(packets),
                     what);
}

void swx_close(void *state) {
    const std::unique_ptr<swx> self(static_cast<swx *>(state));
    const wt_swx_ends &ends = self->switched.ends();
    for (uint32_t i = 0; i < ends.outs; i++)
        if (ends.out[i].packets > 0)
            std::fprintf(stderr, "swx: %llu packets %s %u\n",
                         static_cast<unsigned long long>(ends.out[i].packets),
                         i + 1 < ends.outs ? "sent to port" : "dropped by the spec, port", i);
    say(ends.too_short, "shorter than the headers that the spec extracts");
    say(ends.no_headroom, "no headroom for the headers that the spec emits");
    say(ends.no_port, "sent to a port that is not there");
    say(ends.stuck, "still in the pipeline after 65536 instructions for one packet");
}

void swx_packet(void *state, wt_packet *burst, uint32_t count) {
    swx *self = static_cast<swx *>(state);
    self->switched.run(burst, count, *self->steps);
}

const wt_step_name *swx_steps(void *state) { return static_cast<swx *>(state)->counted.steps(); }
const wt_counter *swx_counters(void *state) { return static_cast<swx *>(state)->counted.counters(); }
void swx_read_counters(void *state, uint64_t *values) { static_cast<swx *>(state)->counted.read(values); }

const wt_option options[] = {
    {"spec", "", nullptr, "the pipeline: a DPDK SWX .spec, as p4c-dpdk writes it", WT_FILE, 0},
    {"tables", "", nullptr,
     "entries of its tables: `table NAME`, then lines as DPDK's `table add` reads them", WT_FILE, 0},
    {"ports", "4", nullptr, "output ports, 1 to 256; the pipeline's drop is one more", WT_COUNT, 0},
    {"host", "", nullptr,
     "the port whose packets go on to the parser and the message handler; all others leave as they came",
     WT_TEXT, 0},
    {"compiler", "gcc", nullptr, "what compiles the generated C: gcc, clang or a path", WT_TEXT, 0},
    {nullptr, nullptr, nullptr, nullptr, 0, 0},
};

}  // namespace

const wt_handler wt_swx = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(wt_handler),
    .name = "swx",
    .help = "runs a P4 pipeline on DPDK's software switch (SWX) and sends each packet where it says",
    .kind = WT_PACKET_HANDLER,
    .flags = WT_MOVES_DATA,
    .options = options,
    .open = swx_open,
    .close = swx_close,
    .message = nullptr,
    .request = nullptr,
    .packet = swx_packet,
    .steps = swx_steps,
    .counters = swx_counters,
    .read_counters = swx_read_counters,
};
