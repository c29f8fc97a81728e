#include "parts/swx/pipeline.h"

#include <dlfcn.h>
#include <rte_errno.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/refusal.h"
#include "parts/swx/blocks.h"
#include "parts/swx/heap.h"
#include "parts/swx/object.h"
#include "parts/swx/spec.h"

namespace wt {

namespace {

std::string fresh_name() {
    static std::atomic<uint32_t> count;
    return "wt-swx-" + std::to_string(count++);
}

// The ends that DPDK is to build, for ours to take their places. It adds the port of what is dropped.
std::string ports_text(const std::string &ring, uint32_t ports) {
    std::string text = "mirroring slots 4 sessions 64\nport in 0 ring " + ring + " bsz 1\n";
    for (uint32_t i = 0; i < ports; i++) text += "port out " + std::to_string(i) + " sink file none\n";
    return text;
}

// Whether the object can be used: one that was cut short when a disk filled up cannot.
bool loads(const std::string &object) {
    void *handle = dlopen(object.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return false;
    const bool whole = dlsym(handle, "wt_swx_inside") != nullptr;
    dlclose(handle);
    return whole;
}

// A generous bound: an exact table takes some 100 bytes for each place, rte_acl up to a few KiB for each
// entry.
uint64_t table_bytes_at_most(const std::string &spec) {
    constexpr uint64_t besides = 256 << 20, for_each = 4096;
    return besides + for_each * sizes_in(spec);
}

std::vector<wt_swx_out> outs_of(const spec_plan &plan, wt_swx_ends *ends) {
    std::vector<wt_swx_out> outs(plan.ports + 1, {ends, 0, WT_FORWARD, 0});
    outs.back().verdict = WT_DROP;
    if (plan.host) outs[*plan.host].verdict = WT_PASS;
    return outs;
}

}  // namespace

pipeline::pipeline(const spec_plan &plan) : out_(outs_of(plan, &ends_)), socket_(table_socket(plan.socket)) {
    std::string object = spec_object(plan.spec, plan.compiler);
    if (!loads(object)) object = spec_object(plan.spec, plan.compiler, true);
    ends_.out = out_.data();
    ends_.most_steps = WT_MAX_STEPS;
    ends_.outs = static_cast<uint32_t>(out_.size());
    const uint64_t most_bytes = table_bytes_at_most(read_spec(plan.spec));
    for (;;) {
        try {
            build(plan, object);
            return;
        } catch (const out_of_table_memory &why) {
            pipeline_.reset();
            if (!grow_table_memory(most_bytes)) throw refusal(plan.spec + ": " + why.what(), why.remedy());
        }
    }
}

pipeline::~pipeline() { std::free(ends_.step_of); }

void pipeline::build(const spec_plan &plan, const std::string &object) {
    build_empty(object);
    tables_ = tables_of(pipeline_.get());
    const std::vector<selector_shape> selectors = selectors_of(pipeline_.get());
    selector_groups groups(selectors);
    if (!plan.tables.empty()) fill_tables(pipeline_.get(), plan.tables, socket_, tables_, selectors, groups);
    groups.set(pipeline_.get(), plan.spec);
    if (inside_->attach(pipeline_.get(), &ends_) != 0) throw refusal("out of memory");
}

void pipeline::build_empty(const std::string &object) {
    const std::string name = fresh_name();
    entrance_.reset(rte_ring_create(name.c_str(), 2, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
    if (!entrance_) throw refusal(std::string("no ring for the pipeline: ") + rte_strerror(rte_errno));
    std::string text = ports_text(name, ends_.outs - 1);
    const std::unique_ptr<FILE, int (*)(FILE *)> ports(fmemopen(text.data(), text.size(), "r"), fclose);
    rte_swx_pipeline *built = nullptr;
    const int status =
        rte_swx_pipeline_build_from_lib(&built, name.c_str(), object.c_str(), ports.get(), socket_);
    if (status == -ENODEV || status == -ENOMEM)
        throw out_of_table_memory(
            "its tables cannot be made: " + std::string(std::strerror(-status)),
            "memory may be too small for their sizes; or the fields of an exact table's "
            "key are not adjacent");
    if (status != 0) throw refusal(std::string("DPDK cannot build the pipeline: ") + std::strerror(-status));
    pipeline_.reset(built);
    // once more the same: DPDK holds it while the pipeline lives
    void *handle = dlopen(object.c_str(), RTLD_LAZY | RTLD_LOCAL);
    inside_ = static_cast<const wt_swx_inside *>(dlsym(handle, "wt_swx_inside"));
    dlclose(handle);
}

}  // namespace wt
