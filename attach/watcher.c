/* Without a lease it sleeps in FUTEX_WAIT, without a time limit, and nothing is wrapped: a probe that nobody
 * uses costs nothing. With one it wakes at the edges of phases, and while present each 5 ms, in which a port
 * may have been started again. */
#include "watcher.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "channels.h"
#include "latency.h"
#include "phases.h"
#include "turns.h"
#include "wrap.h"

enum {
    TICK_NS = 5000000,
    LOST_AFTER_NS = 100000000,
    LONGEST_DELAY_NS = 1000000,
    INTERRUPTED_US = 50,
    SHORTEST_PHASE_US = 100
};

/* What holds from one wake to the next. */
struct watch {
    struct wt_attach_page *page;
    uint64_t now; /* ns, of this wake */
    double ticks_a_ns;
    bool leased, present;
    bool known;        /* the phase that runs was of one kind from its beginning on */
    uint64_t phase_at; /* ns, when it began */
    uint64_t phase_ticks;
    uint32_t applied; /* control.sequence that the settings are from */
};

static uint64_t monotonic_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void read_clocks(struct watch *watch) {
    struct wt_attach_page *const page = watch->page;
    __atomic_store_n(&page->clock_sequence, page->clock_sequence + 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    page->clock_ticks = wt_ticks();
    page->clock_ns = watch->now = monotonic_ns();
    __atomic_store_n(&page->clock_sequence, page->clock_sequence + 1, __ATOMIC_RELEASE);
}

/* Ticks a ns, from 2 ms: a bound of 50 us needs no better one. The observer has the page's own pairs. */
static void measure_ticks(struct watch *watch) {
    const uint64_t ticks = watch->page->clock_ticks, ns = watch->page->clock_ns;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    read_clocks(watch);
    watch->ticks_a_ns = (double)(watch->page->clock_ticks - ticks) / (double)(watch->page->clock_ns - ns);
}

static uint64_t ticks_of(const struct watch *watch, uint64_t ns) {
    return (uint64_t)((double)ns * watch->ticks_a_ns);
}

static uint64_t lease_until(const struct watch *watch) {
    const uint64_t until = __atomic_load_n(&watch->page->control.lease_until_ns, __ATOMIC_ACQUIRE);
    return until > watch->now && until - watch->now <= WT_ATTACH_LEASE_MS * 1000000ull ? until : 0;
}

/* The delay holds no longer than the lease that was seen last. It is set aside while it is changed. */
static void set_delay(const struct watch *watch, const struct wt_attach_control *control, uint64_t until) {
    __atomic_store_n(&wt_settings.delay_until, 0, __ATOMIC_SEQ_CST);
    if (control->delay_until_ns < until) until = control->delay_until_ns;
    wt_write(&wt_settings.delay_most, ticks_of(watch, LONGEST_DELAY_NS));
    wt_write(&wt_settings.delay_ticks, control->delay_ticks);
    wt_write(&wt_settings.fill_ticks, control->fill_ticks);
    wt_write(&wt_settings.delay_thread, control->delay_thread);
    if (until > watch->now)
        __atomic_store_n(&wt_settings.delay_until, wt_ticks() + ticks_of(watch, until - watch->now),
                         __ATOMIC_RELEASE);
}

static void set_modes(const struct watch *watch, const struct wt_attach_control *control) {
    const uint64_t interrupted_us = control->interrupted_us ? control->interrupted_us : INTERRUPTED_US;
    wt_write(&wt_settings.timed_every, control->timed_every);
    wt_write(&wt_settings.interrupted_ticks, ticks_of(watch, interrupted_us * 1000));
    __atomic_store_n(&wt_settings.generation, wt_settings.generation + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&wt_settings.modes, control->modes, __ATOMIC_RELEASE);
}

/* Ends the time of being present; `stays`: another one follows at once. */
static void leave(struct watch *watch, bool stays) {
    if (!watch->present) return;
    if (!stays) wt_unwrap_ports(watch->page);
    watch->page->present_ticks += wt_ticks() - watch->phase_ticks;
    watch->present = false;
}

/* What was counted until now belongs to the phase that ends; wrappers that come with the next one are there
 * already. */
static void begin_phase(struct watch *watch, const struct wt_attach_control *control, bool present) {
    if (control->modes & WT_ATTACH_STATS) wt_end_phase(watch->page, watch->known, watch->present);
    leave(watch, present);
    watch->phase_ticks = wt_ticks();
    watch->present = present;
    watch->known = true;
    watch->phase_at = watch->now;
}

static void end_lease(struct watch *watch) {
    if (!watch->leased) return;
    leave(watch, false);
    __atomic_store_n(&wt_settings.delay_until, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&wt_settings.modes, 0, __ATOMIC_RELEASE);
    watch->leased = watch->known = false;
    watch->page->lease_ends++;
}

static uint64_t phase_ns(const struct watch *watch, const struct wt_attach_control *control) {
    const uint64_t on = control->on_us, period = control->period_us;
    const uint64_t us = on >= period ? on : watch->present ? on : period - on;
    return (us < SHORTEST_PHASE_US ? SHORTEST_PHASE_US : us) * 1000;
}

/* One wake under a lease: the ns until the next one, or 0 if the probe has to refuse. */
static uint64_t serve(struct watch *watch, uint64_t until, uint32_t sequence) {
    struct wt_attach_control control;
    memcpy(&control, &watch->page->control, sizeof control);
    const bool changed = !watch->leased || watch->applied != sequence;
    const bool edge = changed || watch->now - watch->phase_at >= phase_ns(watch, &control);
    const bool always = control.on_us >= control.period_us, begins = changed || always || !watch->present;
    const bool present = edge ? begins && control.modes & WT_ATTACH_COUNTS && control.on_us : watch->present;
    watch->leased = true;
    watch->applied = sequence;
    if (changed) set_modes(watch, &control);
    set_delay(watch, &control, until);
    if (present && !watch->present) wt_drop_packet(); /* of a phase that is over */
    if (present) {
        const char *const refusal = wt_wrap_ports(watch->page);
        if (refusal) {
            wt_unwrap_ports(watch->page);
            snprintf(watch->page->refusal, sizeof watch->page->refusal, "%s", refusal);
            return 0;
        }
        wt_expire_packet(wt_ticks() - ticks_of(watch, LOST_AFTER_NS));
    }
    if (edge) begin_phase(watch, &control, present);
    uint64_t rest = watch->phase_at + phase_ns(watch, &control) - watch->now;
    if (watch->present && rest > TICK_NS) rest = TICK_NS;
    return rest < until - watch->now ? rest : until - watch->now;
}

static void sleep_until_changed(struct watch *watch, uint32_t sequence, uint64_t ns) {
    const struct timespec rest = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    syscall(SYS_futex, &watch->page->control.sequence, FUTEX_WAIT, sequence, ns ? &rest : NULL, NULL, 0);
}

void *wt_watch(void *page) {
    struct watch watch = {.page = page};
    __atomic_store_n(&watch.page->watcher, (uint32_t)gettid(), __ATOMIC_RELEASE);
    for (;;) {
        const uint32_t sequence = __atomic_load_n(&watch.page->control.sequence, __ATOMIC_ACQUIRE);
        read_clocks(&watch);
        if (watch.ticks_a_ns == 0 && lease_until(&watch)) measure_ticks(&watch);
        const uint64_t until = lease_until(&watch);
        uint64_t rest = 0;
        if (!until) {
            end_lease(&watch);
        } else if (!(rest = serve(&watch, until, sequence))) {
            end_lease(&watch);
            __atomic_store_n(&watch.page->state, WT_ATTACH_REFUSED, __ATOMIC_RELEASE);
            return NULL;
        }
        sleep_until_changed(&watch, sequence, rest);
    }
}
