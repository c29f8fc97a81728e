// The groups of a pipeline's selectors.
#pragma once

#include <rte_swx_ctl.h>

#include <map>
#include <string>
#include <vector>

#include "parts/swx/entries.h"

namespace wt {

// All selectors of the pipeline, in the order of their ids.
std::vector<selector_shape> selectors_of(rte_swx_pipeline *pipeline);

// Takes members one by one, and sets the groups at the end, before the first packet: DPDK's own control would
// replace the tables that are filled beside it.
class selector_groups {
  public:
    explicit selector_groups(const std::vector<selector_shape> &selectors)
        : selectors_(selectors), groups_(selectors.size()) {}

    // Throws refusal that begins with FILE:LINE: a member that is there already, one too many.
    void take(size_t selector, const entry_line &line, const selector_member &member);

    // Throws refusal where a selector has no group at all: it would send each packet to member 0, and who
    // forgot its groups would not see it.
    void set(rte_swx_pipeline *pipeline, const std::string &spec) const;

  private:
    struct listed {
        selector_member member;
        uint32_t line;
    };
    const std::vector<selector_shape> &selectors_;
    std::vector<std::map<uint32_t, std::vector<listed>>> groups_;  // by selector; by group
};

}  // namespace wt
