// model: an engine that is given as figures. The CPU moves the bytes while the run's time stands still, so
// that the run sees what the engine would have cost the worker, and copies that end when it would have ended
// them.
//
// It is a model, and no more. The CPU has just moved the bytes, so that they are in its caches; an engine
// leaves them in the last-level cache or in memory. Nothing else uses the memory meanwhile. The call itself,
// some ticks a burst, comes on top of the figures. What the CPU does for one copy is the error of a time that
// another thread reads: main, for the ends of windows. Each application has an engine of its own.
#include <rte_memcpy.h>

#include <algorithm>

#include "core/clock.h"
#include "core/refusal.h"
#include "parts/copies/copiers/modelled_engine.h"

namespace wt {

namespace {

uint32_t submit(void *state, const copy_piece *pieces, uint32_t count) {
    modelled_engine &engine = *static_cast<modelled_engine *>(state);
    uint64_t since = take_exactly(engine.burst_cost(), rte_rdtsc());
    const uint32_t taken = engine.room(count);
    for (uint32_t i = 0; i < taken; i++) {
        rte_memcpy(pieces[i].to, pieces[i].from, pieces[i].bytes);
        since = take_exactly(engine.copy_cost(pieces[i].bytes), since);
    }
    engine.start(pieces, taken, since - held_ticks);
    take_exactly(0, since);
    return taken;
}

uint32_t completed(void *state, copy_end *ends, uint32_t most) {
    modelled_engine &engine = *static_cast<modelled_engine *>(state);
    const uint64_t since = rte_rdtsc();
    const uint32_t count = engine.take_ended(most, since - held_ticks);
    std::fill_n(ends, count, copy_end::well);
    take_exactly(engine.poll_cost(count), since);
    return count;
}

void close(void *state) { delete static_cast<modelled_engine *>(state); }

copy_channel open(const copier_end &end) {
    if (end.model == nullptr) throw refusal("model: the plan has no figures of an engine", "name a profile");
    auto *engine = new modelled_engine(*end.model, end.ticks_per_ns, end.depth);
    return {.state = engine,
            .submit = submit,
            .completed = completed,
            .close = close,
            .kind = copier_kind::modelled,
            .immediate = engine->immediate(),
            .device = end.model->name};
}

constexpr wt_option options[] = {
    {.name = "profile",
     .fallback = "",
     .help = "the engine's figures: a shipped profile, or a TOML file of your own",
     .type = WT_TEXT},
    {},
};

}  // namespace

WT_COPIER(model) = {
    .name = "model",
    .help = "an engine given as figures, modelled: one worker, on a wire without a time of its own",
    .profile_option = "profile",
    .most_depth = 8192,
    .options = options,
    .open = open};

}  // namespace wt
