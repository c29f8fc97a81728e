// One copy of a table: a structure of its method, and the entries that it points to.
#pragma once

#include <vector>

#include "parts/tables/library/method.h"

namespace wt {

// Not shared while it changes. What fails leaves the copy as it was, but for `commit`, whose changes are to
// be undone.
class copy {
  public:
    copy(const wt_table_plan &plan, const wt_method &method, uint32_t deep_blocks);
    ~copy();
    copy(const copy &) = delete;
    copy &operator=(const copy &) = delete;

    const wt_copy *shown() const { return &shown_; }
    const void *structure() const { return shown_.structure; }
    bool find(const wt_rule &rule, uint32_t *value) const;

    // Return 0, or -1 with words. A rule to add must not be there, one to replace or remove must.
    int add(const wt_rule &rule, const wt_words *words);
    int replace(const wt_rule &rule, const wt_words *words);
    int remove(const wt_rule &rule, const wt_words *words);
    int commit(const wt_words *words);

  private:
    const wt_method &method_;
    wt_copy shown_{};
    std::vector<uint32_t> free_entries_;
};

// Bytes of EAL's heap that are in use, on all nodes.
uint64_t heap_bytes();

}  // namespace wt
