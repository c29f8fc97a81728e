// A plan that is accepted, with every nullable part present: tests change it one key at a time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace wt::test {

// The load of a workload: one rate for ever.
nlohmann::ordered_json open_load(double rate_per_s, const char *arrivals);

nlohmann::ordered_json valid_endpoint(const std::string &side);

// The plan as it is, and with a delay, other batches and another in-flight budget.
nlohmann::ordered_json valid_variants();

nlohmann::ordered_json valid_plan();

// The plan without its client, and so without variants, which change both sides.
void leave_server(nlohmann::ordered_json &plan);

}  // namespace wt::test
