// What app_tx counts of copies from a source.
#pragma once

#include <cstdint>

#include "core/histogram.h"
#include "core/stage.h"

namespace wt {

// Why the CPU made a copy where a copier is there. A name is added only here.
#define WT_COPY_REASONS(X)                               \
    X(small)   /* below at_least */                      \
    X(no_room) /* the copier took less than its depth */ \
    X(failed)  /* the copier reported an error */        \
    X(gave_up) /* the copier has been given up: it did not end its copies */

enum class copy_reason : uint8_t {
#define WT_X(name) name,
    WT_COPY_REASONS(WT_X)
#undef WT_X
        count
};

constexpr const char *copy_reason_names[] = {
#define WT_X(name) #name,
    WT_COPY_REASONS(WT_X)
#undef WT_X
};
constexpr uint32_t copy_reasons = static_cast<uint32_t>(copy_reason::count);

struct copy_counters {
    uint64_t copies;  // that the copier ended well
    uint64_t by_cpu[copy_reasons];
    uint64_t uncopied;     // bodies that leave as a part of the source
    uint64_t bytes;        // of all these
    uint64_t never_ended;  // copies of a copier that was given up

    copy_counters &operator+=(const copy_counters &other) {
        copies += other.copies;
        for (uint32_t i = 0; i < copy_reasons; i++) by_cpu[i] += other.by_cpu[i];
        uncopied += other.uncopied;
        bytes += other.bytes;
        never_ended += other.never_ended;
        return *this;
    }
};

// Of one window.
struct copy_stats : stats_of_part, copy_counters {
    batch_histogram completion;  // ticks from the submit of a copy to the poll that found its end
    batch_histogram sizes;       // bytes of the copies that the copier ended well, where they end later

    void clear() override {
        static_cast<copy_counters &>(*this) = {};
        completion.clear();
        sizes.clear();
    }
};

}  // namespace wt
