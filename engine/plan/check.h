// What the keys of a plan mean for one another.
#pragma once

#include "plan/types.h"

namespace wt {

// Checks every index against the list that it points into, and what each kind of port, endpoint and load
// cannot do without. Throws refusal with the path of the key.
void check_plan(const plan &p);

// Then each part (parts/part.h) checks its own fields: a file parts/<name>/check.cc defines
//     void check_plan_of_<name>(const plan &p);

[[noreturn]] void refuse_plan(const std::string &path, const std::string &why);

}  // namespace wt
