// The plan of a tenant: the mirror of TenantPlan in sharing/src/windtunnel_sharing/tenant.py.
#pragma once

#include <string>

#include "plan/json_reader.h"
#include "slicers/tenant.h"

namespace wt {

// Both throw refusal.
arrival_phases read_phases(const json_value &value);
tenant_plan read_tenant_plan(const std::string &text);

}  // namespace wt
