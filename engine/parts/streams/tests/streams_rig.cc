#include "streams_rig.h"

namespace wt::test {

json stream_plan(const json &stream, const json &copies, const json &workload) {
    json p = copying_plan(copies);
    json &w = p["workloads"][0];
    w.update({{"request_bytes", 86}, {"handler", nullptr}});
    w["stream"] = {{"write_bytes", write_bytes},    {"send_buffer_bytes", 100'000},
                   {"receive_buffer_bytes", 65536}, {"read_bytes", 1 << 20},
                   {"congestion", "none"},          {"checksums", true}};
    w["stream"].update(stream);
    w.update(workload);
    return p;
}

}  // namespace wt::test
