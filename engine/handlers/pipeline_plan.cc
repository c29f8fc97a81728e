#include "handlers/pipeline_plan.h"

#include <limits>

#include "plan/json_reader.h"

namespace wt {

namespace {

// In the order of the enums that they stand for.
constexpr const char *kinds[] = {"exact", "lpm", "ternary"};
constexpr const char *methods[] = {"hash", "fib", "lpm", "acl", "linear", "tss"};
constexpr const char *lookups[] = {"bulk", "single"};
constexpr const char *accesses[] = {"pointer", "rcu"};
constexpr const char *entries[] = {"inline", "pointed"};
constexpr const char *actions[] = {"forward", "rewrite", "count", "meter", "drop"};
constexpr const char *popularities[] = {"uniform", "zipf"};
constexpr const char *prefixes[] = {"24", "mixed"};
constexpr const char *places[] = {"l3", "l4", "body"};
constexpr const char *wheres[] = {"ingress", "egress"};
constexpr const char *traffics[] = {"none", "frames", "requests"};
constexpr uint64_t most_rules = 1 << 24, most_rate = 1'000'000'000, most_offset = 2048;

template <typename Words>
uint32_t position(const json_value &v, const Words &words) {
    return static_cast<uint32_t>(v.word(words));
}

ma_field read_field(const json_value &v) {
    return read_object(v, [](json_object &o) {
        ma_field f{};
        f.place = static_cast<uint8_t>(o["place"].word(places));
        f.bytes = o["bytes"].whole<uint8_t>(1, 16);
        f.offset = o["offset"].whole<uint16_t>(0, most_offset);
        if ((f.bytes & (f.bytes - 1)) != 0) o["bytes"].refuse("is no power of two");
        return f;
    });
}

ma_key read_key(const json_value &v) {
    return read_object(v, [&](json_object &o) {
        ma_key key{};
        uint32_t bytes = 0;
        const auto fields = o["fields"].list(read_field, 1, MA_FIELDS_MOST);
        for (const ma_field &f : fields) {
            key.fields[key.field_count++] = f;
            bytes += f.bytes;
        }
        key.bytes = o["bytes"].whole<uint32_t>(4, WT_KEY_MOST);
        key.segments = o["segments"].whole<uint32_t>(0, 16);
        if (key.bytes % 4 != 0 || bytes > key.bytes || bytes + 4 <= key.bytes) o["bytes"].refuse("does not hold the fields");
        if (key.segments != 0 && (bytes != 16 || key.segments != key.fields[0].bytes || key.segments < 4))
            o["segments"].refuse("is not that of 16 bytes");
        return key;
    });
}

meter_plan read_meter(const json_value &v) {
    return read_object(v, [](json_object &o) {
        return meter_plan{.committed = o["committed_bytes_per_s"].whole<uint64_t>(1),
                          .peak = o["peak_bytes_per_s"].whole<uint64_t>(1),
                          .burst = o["burst_bytes"].whole<uint64_t>(1)};
    });
}

table_plan read_table(const json_value &v) {
    return read_object(v, [](json_object &o) {
        table_plan t{};
        t.name = o["name"].text();
        t.egress = o["where"].word(wheres) == 1;
        t.kind = WT_EXACT + position(o["kind"], kinds);
        t.method = WT_HASH + position(o["method"], methods);
        t.key = read_key(o["key"]);
        t.rules = o["rules"].whole<uint64_t>(0, most_rules);
        t.file = o["file"].is_null() ? std::string() : o["file"].text();
        t.prefixes = position(o["prefixes"], prefixes);
        t.masks = o["masks"].whole<uint32_t>(1, WT_MASKS_MOST);
        t.load = o["load"].real(0, 1, false);
        t.lookup = position(o["lookup"], lookups);
        t.access = position(o["access"], accesses);
        t.entries = position(o["entry"], entries);
        t.per_core = o["per_core"].truth();
        t.action = position(o["action"], actions);
        t.meter = o["meter"].optional(read_meter);
        t.miss_drops = o["miss_drops"].truth();
        t.changes_per_s = o["changes_per_s"].whole<uint64_t>(0, most_rate);
        t.seed = o["seed"].whole<uint64_t>();
        t.steered = o["steered"].truth();
        t.hit = o["hit"].real(0, 1);
        t.popularity = position(o["popularity"], popularities);
        t.exponent = o["exponent"].real(0, 64, false);
        t.expected = o["expected"].whole<uint32_t>(0, most_offset);
        if ((t.rules == 0) == t.file.empty()) o["rules"].refuse("and file: one of them");
        if (t.action == MA_METER && !t.meter) o["meter"].refuse("is null, but the action meters");
        if (t.changes_per_s > 0 && t.access != WT_RCU) o["access"].refuse("is no rcu, but entries change");
        return t;
    });
}

}  // namespace

pipeline_plan read_pipeline(std::string_view text) {
    const nlohmann::json document = parse_json(text);
    return read_object(json_value(document, "pipeline"), [](json_object &o) {
        pipeline_plan p{.traffic = static_cast<enum traffic>(o["traffic"].word(traffics)),
                        .body_offset = o["body_offset"].whole<uint32_t>(0, most_offset),
                        .body_bytes = o["body_bytes"].whole<uint32_t>(0, most_offset),
                        .inner = o["inner"].truth(),
                        .change_cpu = o["change_cpu"].optional([](const json_value &v) { return v.whole<int>(0, 4095); }),
                        .tables = o["tables"].list(read_table, 1, MA_TABLES_MOST)};
        const uint32_t room = p.body_bytes - std::min<uint32_t>(p.body_bytes, p.inner ? MA_INNER_HEADERS : 0);
        for (const table_plan &t : p.tables) {
            if (t.expected + 4 > room && p.traffic != traffic::none) o["body_bytes"].refuse("has no room for what packets say");
            for (uint32_t f = 0; f < t.key.field_count; f++)
                if (const ma_field &field = t.key.fields[f]; field.place == MA_BODY && field.offset + field.bytes > room)
                    o["body_bytes"].refuse("has no room for the key of " + t.name);
                else if (field.place != MA_BODY && field.offset + field.bytes > (field.place == MA_L3 ? 20 : 8))
                    o["tables"].refuse("a field of " + t.name + " is beyond its header");
        }
        bool egress = false;
        for (const table_plan &t : p.tables) {
            if (egress && !t.egress) o["tables"].refuse("an ingress table stands behind one of egress");
            egress = t.egress;
        }
        return p;
    });
}

}  // namespace wt
