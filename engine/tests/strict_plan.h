// What the readers of the plan's keys owe: each key is wanted, is of its type, and no other is taken.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "plan/plan.h"
#include "test_tools.h"

namespace wt::test {

using plan_place = nlohmann::ordered_json::json_pointer;

// Every place of the document below `at`, parents first.
inline void walk(const nlohmann::ordered_json &value, const plan_place &at,
                 const std::function<void(const plan_place &, const nlohmann::ordered_json &)> &visit) {
    visit(at, value);
    if (value.is_object())
        for (const auto &[key, child] : value.items()) walk(child, at / key, visit);
    if (value.is_array())
        for (size_t i = 0; i < value.size(); i++) walk(value[i], at / i, visit);
}

// Any name may stand there, or any of some words.
inline bool has_free_names(const plan_place &at) {
    const std::string path = at.to_string();
    return contains(path, "/options") || (contains(path, "/variants/") && contains(path, "/batch"));
}

// The words of the refusal, or "" where the plan is accepted.
inline std::string refusal_of_plan(const nlohmann::ordered_json &plan) {
    return refusal_of([&] { read_plan(plan.dump()); });
}

// Expects that the plan is refused without any of the keys at or below `from`. Returns how many there are.
inline size_t expect_wanted_keys(const nlohmann::ordered_json &plan, const plan_place &from) {
    size_t keys = 0;
    walk(plan[from], from, [&](const plan_place &at, const nlohmann::ordered_json &) {
        if (at.empty() || !plan[at.parent_pointer()].is_object() || has_free_names(at.parent_pointer()))
            return;
        nlohmann::ordered_json changed = plan;
        changed[at.parent_pointer()].erase(at.back());
        EXPECT_TRUE(contains(refusal_of_plan(changed), "key \"" + at.back() + "\" is missing")) << at;
        keys++;
    });
    return keys;
}

// Expects that no object at or below `from` takes a key that it does not have. Returns how many there are.
inline size_t expect_known_keys(const nlohmann::ordered_json &plan, const plan_place &from) {
    size_t objects = 0;
    walk(plan[from], from, [&](const plan_place &at, const nlohmann::ordered_json &value) {
        if (!value.is_object() || has_free_names(at)) return;
        nlohmann::ordered_json changed = plan;
        changed[at]["surprise"] = 1;
        EXPECT_TRUE(contains(refusal_of_plan(changed), "surprise: unknown key")) << at;
        objects++;
    });
    return objects;
}

// Expects that no value at or below `from` may be of another type.
inline void expect_types(const nlohmann::ordered_json &plan, const plan_place &from) {
    using json = nlohmann::ordered_json;
    const json others[] = {nullptr, true, -1, 1.5, "?", json::array(), json::object()};
    walk(plan[from], from, [&](const plan_place &at, const json &value) {
        for (const json &other : others) {
            if (other.type() == value.type() || (other.is_number() && value.is_number())) continue;
            if (other.is_null() || (other.is_object() && has_free_names(at))) continue;
            json changed = plan;
            changed[at] = other;
            EXPECT_NE(refusal_of_plan(changed), "") << at << " = " << other;
        }
    });
}

}  // namespace wt::test
