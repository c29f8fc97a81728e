#include "plan/plan.h"

#include "core/refusal.h"
#include "plan/check.h"
#include "plan/readers.h"

namespace wt {

// First, so that a plan of another version is refused for that and not for a key.
static void check_version(const nlohmann::ordered_json &document) {
    if (!document.is_object() || !document.contains("version")) return;
    if (const json_value version(document["version"], "version"); version.whole<uint64_t>() != plan_version)
        throw refusal("the plan has version " + version.value().dump() + ", this engine reads version " +
                          std::to_string(plan_version),
                      "use windtunnel and windtunnel-engine of one release");
}

plan read_plan(std::string_view json) {
    const nlohmann::ordered_json document = parse_json(json);
    check_version(document);
    plan p = read_plan(json_value(document, ""));
    check_plan(p);
    return p;
}

}  // namespace wt
