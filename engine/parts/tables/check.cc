// What the plan says of match-action tables, beyond what its readers check.
#include "plan/check.h"

#include <algorithm>
#include <numeric>

#include "parts/tables/pipeline.h"
#include "plan/readers.h"

namespace wt {

namespace {

constexpr uint32_t ipv6_header_bytes = 40;
constexpr uint32_t body_key_bytes = 16;  // of a key in equal segments
constexpr uint32_t hit_bytes = 4;        // what a packet says of its key

void check_key(const std::string &path, const key_plan &key) {
    const uint32_t bytes =
        std::accumulate(key.fields.begin(), key.fields.end(), 0u,
                        [](uint32_t sum, const key_field_plan &f) { return sum + f.bytes; });
    if (bytes > key.bytes || bytes + 4 <= key.bytes)
        refuse_plan(path + ".bytes", std::to_string(key.bytes) + " do not hold the " + std::to_string(bytes) +
                                         " of the fields");
    if (key.segments != 0 && (bytes != body_key_bytes || key.segments != key.fields[0].bytes))
        refuse_plan(path + ".segments", std::to_string(key.segments) + " is not that of 16 bytes");
}

// Where fields and what packets say of them may lie; `room` of the body.
void check_places(const std::string &path, const table_plan &t, uint32_t room, bool says, bool ipv6) {
    if (says && t.expected + hit_bytes > room) refuse_plan(path + ".expected", "the body has no room for it");
    for (size_t f = 0; f < t.key.fields.size(); f++) {
        const key_field_plan &field = t.key.fields[f];
        const uint32_t most = field.place == key_place::body ? room
                              : field.place == key_place::l3 ? (ipv6 ? ipv6_header_bytes : ipv4_header_bytes)
                                                             : udp_header_bytes;
        if (uint32_t{field.offset} + field.bytes > most)
            refuse_plan(
                path + ".key.fields[" + std::to_string(f) + "]",
                std::string("is beyond the ") + std::to_string(most) + " bytes of " + name_of(field.place));
    }
}

void check_table(const std::string &path, const table_plan &t) {
    check_key(path + ".key", t.key);
    if ((t.rules == 0) != t.file.has_value()) refuse_plan(path + ".rules", "and file: one of them");
    if (t.action == table_action::meter && !t.meter)
        refuse_plan(path + ".meter", "is null, but the action meters");
    if (t.changes_per_s > 0 && t.access != table_access::rcu)
        refuse_plan(path + ".access", "is not rcu, but entries change");
}

void check_pipeline(const std::string &path, const pipeline_plan &p) {
    const uint32_t headers = !p.inner ? 0 : p.ipv6 ? inner_ipv6_headers_bytes : inner_headers_bytes;
    const uint32_t room = p.body_bytes - std::min<uint32_t>(p.body_bytes, headers);
    bool egress = false;
    for (size_t i = 0; i < p.tables.size(); i++) {
        const table_plan &t = p.tables[i];
        const std::string here = path + ".tables[" + std::to_string(i) + "]";
        check_table(here, t);
        check_places(here, t, room, p.traffic != traffic::none, p.ipv6);
        if (egress && t.where == table_where::ingress)
            refuse_plan(here + ".where", "an ingress table stands behind one of egress");
        egress = t.where == table_where::egress;
    }
}

}  // namespace

void check_plan_of_tables(const plan &p) {
    for (size_t i = 0; i < p.workloads.size(); i++) {
        const workload_plan &w = p.workloads[i];
        const std::string path = "workloads[" + std::to_string(i) + "].pipeline";
        if (!w.pipeline) continue;
        if (!w.packet_handler || w.packet_handler->name != "match_action")
            refuse_plan(path, "is given, but packet_handler is not match_action");
        check_pipeline(path, *w.pipeline);
    }
}

pipeline_plan read_pipeline(std::string_view json) {
    const nlohmann::ordered_json document = parse_json(json);
    pipeline_plan p = read_pipeline(json_value(document, "pipeline"));
    check_pipeline("pipeline", p);
    return p;
}

}  // namespace wt
