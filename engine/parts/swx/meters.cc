#include "parts/swx/meters.h"

#include <rte_meter.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/refusal.h"

namespace wt {

namespace {

using words = std::vector<std::string>;

constexpr const char *forms =
    "`meter profile NAME add cir N pir N cbs N pbs N` (bytes per second, bytes), and "
    "`meter ARRAY from N to N "
    "set "
    "profile NAME`";

uint64_t number_in(const entry_line &line, const std::string &word) {
    uint64_t value = 0;
    const char *const end = word.data() + word.size();
    const auto [stopped, failed] = std::from_chars(word.data(), end, value);
    if (failed != std::errc() || stopped != end)
        throw refusal(line.where() + ": \"" + word + "\" is not a number", forms);
    return value;
}

// Whether the words that do not vary stand where they should; "" stands for one that varies.
bool is_form(const words &all, const words &form) {
    if (all.size() != form.size()) return false;
    for (size_t i = 0; i < form.size(); i++)
        if (!form[i].empty() && form[i] != all[i]) return false;
    return true;
}

void add_profile(rte_swx_pipeline *pipeline, const entry_line &line, const words &all) {
    rte_meter_trtcm_params params{};
    params.cir = number_in(line, all[5]);
    params.pir = number_in(line, all[7]);
    params.cbs = number_in(line, all[9]);
    params.pbs = number_in(line, all[11]);
    const int failed = rte_swx_ctl_meter_profile_add(pipeline, all[2].c_str(), &params);
    if (failed == -EEXIST) throw refusal(line.where() + ": profile " + all[2] + " is there already");
    if (failed)
        throw refusal(line.where() + ": profile " + all[2] + ": " + std::strerror(-failed),
                      "rates and bursts above 0, and pir is at least cir");
}

// The size of an array of meters; null: the spec has none of this name.
std::optional<uint32_t> size_of(rte_swx_pipeline *pipeline, const std::string &name) {
    rte_swx_ctl_pipeline_info all;
    rte_swx_ctl_pipeline_info_get(pipeline, &all);
    for (uint32_t id = 0; id < all.n_metarrays; id++) {
        rte_swx_ctl_metarray_info info;
        rte_swx_ctl_metarray_info_get(pipeline, id, &info);
        if (name == info.name) return info.size;
    }
    return std::nullopt;
}

void set_profile(rte_swx_pipeline *pipeline, const entry_line &line, const words &all) {
    const std::optional<uint32_t> size = size_of(pipeline, all[1]);
    if (!size) throw refusal(line.where() + ": the spec has no array of meters \"" + all[1] + "\"");
    const uint64_t first = number_in(line, all[3]), last = number_in(line, all[5]);
    if (first > last || last >= *size)
        throw refusal(line.where() + ": " + all[1] + " has meters 0 to " + std::to_string(*size - 1));
    for (uint64_t i = first; i <= last; i++)
        if (rte_swx_ctl_meter_set(pipeline, all[1].c_str(), static_cast<uint32_t>(i), all[8].c_str()) != 0)
            throw refusal(line.where() + ": there is no profile \"" + all[8] + "\" above this line", forms);
}

}  // namespace

void set_meters(rte_swx_pipeline *pipeline, const entry_line &line, const words &all) {
    if (is_form(all, {"meter", "profile", "", "add", "cir", "", "pir", "", "cbs", "", "pbs", ""}))
        return add_profile(pipeline, line, all);
    if (is_form(all, {"meter", "", "from", "", "to", "", "set", "profile", ""}))
        return set_profile(pipeline, line, all);
    throw refusal(line.where() + ": this sets no meter", forms);
}

}  // namespace wt
