// What the plan says of streams, beyond what its readers check.
#include "plan/check.h"

#include "parts/copies/source.h"

namespace wt {

namespace {

void check_stream(const std::string &path, const workload_plan &w) {
    const stream_plan &s = *w.stream;
    if (w.handler || w.packet_handler)
        refuse_plan(path + ".stream", "is given, but so is a handler of messages or packets");
    if (!w.source) refuse_plan(path + ".source", "is null, but a stream is written from a source");
    if (s.write_bytes % source_line != 0)
        refuse_plan(path + ".stream.write_bytes", "is " + std::to_string(s.write_bytes) +
                                                      ", no multiple of " + std::to_string(source_line));
    if (s.send_buffer_bytes < s.write_bytes)
        refuse_plan(path + ".stream.send_buffer_bytes", "does not hold a write");
    if (w.source->bytes < s.write_bytes) refuse_plan(path + ".source.bytes", "does not hold a write");
    if (w.copies->way != copy_way::pipelined)
        refuse_plan(path + ".copies.way", "is not pipelined, but the workload is a stream");
}

}  // namespace

void check_plan_of_streams(const plan &p) {
    for (size_t i = 0; i < p.workloads.size(); i++) {
        const std::string path = "workloads[" + std::to_string(i) + "]";
        if (!p.workloads[i].stream) continue;
        for (const endpoint_plan &e : p.endpoints)
            if (e.ip.is_v6) refuse_plan(path + ".stream", "is given, over IPv6");
        check_stream(path, p.workloads[i]);
    }
}

}  // namespace wt
