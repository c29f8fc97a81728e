// What the plan says of copies, beyond what its readers check.
#include "plan/check.h"

#include <algorithm>

#include "core/message.h"

namespace wt {

namespace {

std::string nth(const std::string &list, size_t i) { return list + "[" + std::to_string(i) + "]"; }

// A source is sent without a copy only by drivers that take chains, and nobody sums the bytes.
void check_chains(const std::string &path, const endpoint_plan &e, const plan &p) {
    const auto makes_chains = [&](const application_plan &a) {
        const auto &copies = p.workloads[a.workload].copies;
        return e.side == side::client && copies && copies->way == copy_way::zero;
    };
    if (std::ranges::none_of(e.applications, makes_chains)) return;
    if (!e.port.chains) refuse_plan(path + ".port.chains", "is false, but bodies are sent without a copy");
    if (e.port.udp_checksum)
        refuse_plan(path + ".port.udp_checksum", "is true, but bodies are sent without a copy");
    if (std::ranges::count(e.port.traits, trait::moves_mbufs))
        refuse_plan(path + ".port.wire",
                    e.port.wire + " moves mbufs: the receiver would get the source itself");
}

void check_copies(const std::string &path, const workload_plan &w) {
    if (w.source && !w.copies) refuse_plan(path + ".copies", "is null, but requests come from a source");
    if (w.source && w.source->bytes + message_header_bytes < w.request_bytes)
        refuse_plan(path + ".source.bytes",
                    std::to_string(w.source->bytes) + " do not hold the body of a request");
    if (!w.copies || w.source) return;
    if (!w.handler) refuse_plan(path + ".copies", "is given, but there is no source and no message handler");
    if (w.copies->way == copy_way::zero)
        refuse_plan(path + ".copies.way", "is zero, but there is no source that a packet could refer to");
    if (!w.copies->at_least_bytes)
        refuse_plan(path + ".copies.at_least_bytes", "is null, but there is no source to measure with");
}

void check_curve(const std::string &path, const std::vector<curve_point_plan> &points) {
    for (size_t i = 0; i < points.size(); i++) {
        if (points.size() > 1 && points[i].value <= 0)
            refuse_plan(nth(path, i) + ".value", "is not above 0, and the curve has several points");
        if (i > 0 && points[i].bytes <= points[i - 1].bytes)
            refuse_plan(nth(path, i) + ".bytes", "is not above that of the point before");
    }
}

// An engine as figures holds the run's time while the CPU moves its bytes: nothing may go on meanwhile.
void check_modelled(const std::string &path, const modelled_engine_plan &model, const plan &p) {
    check_curve(path + ".copy_ns", model.copy_ns);
    if (model.device) {
        check_curve(path + ".device.bytes_per_ns", model.device->bytes_per_ns);
        if (model.device->bytes_per_ns[0].value <= 0)
            refuse_plan(path + ".device.bytes_per_ns[0].value", "is not above 0");
    }
    if (p.workers.size() != 1)
        refuse_plan(path, "is given for a run with " + std::to_string(p.workers.size()) +
                              " workers, and the others would go on while the run's time stands still");
    for (const endpoint_plan &e : p.endpoints)
        if (!std::ranges::count(e.port.traits, trait::twice))
            refuse_plan(path, "is given, and the wire " + e.port.wire + " has a time of its own");
    for (const workload_plan &w : p.workloads)
        if (w.copies && !w.copies->lcores.empty())
            refuse_plan(path, "is given beside a copier with a thread, which would go on meanwhile");
}

}  // namespace

void check_plan_of_copies(const plan &p) {
    for (size_t i = 0; i < p.endpoints.size(); i++) check_chains(nth("endpoints", i), p.endpoints[i], p);
    for (size_t i = 0; i < p.workloads.size(); i++) {
        const workload_plan &w = p.workloads[i];
        const std::string path = nth("workloads", i);
        check_copies(path, w);
        if (w.copies && w.copies->model) check_modelled(path + ".copies.model", *w.copies->model, p);
    }
}

}  // namespace wt
