/* Every copy is counted, and some are timed: of 1 MiB and more all, of 16 KiB and more one of 8, of all
 * others one of 64, drawn at random. Copies of up to 128 KiB are timed by the TSC: at both readings the core
 * first ends what it has begun. A longer one is timed by the thread's CPU time, in which other threads on the
 * CPU are not. At once the same is done around nothing. The difference is the copy's. */
#include "counts.h"

#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

enum {
    LINE_BYTES = 64,
    PAGE_BYTES = 4096,
    TIMED_EIGHTH = 15, /* 16 KiB */
    TIMED_ALL = 21,    /* 1 MiB */
    /* A copy that takes longer was interrupted, as by another thread on its CPU. */
    INTERRUPTED_TICKS = 1 << 15,
    INTERRUPTED_TICKS_A_BYTE = 8,
    CPU_TIME_TICKS = 1 << 25, /* from one reading of the thread's CPU time to the next one */
};

struct self {
    struct wt_copies_thread *row; /* NULL: the thread is new */
    uint32_t process;
    bool shares; /* the row has other writers */
    uint64_t random;
    uint64_t cpu_time_at;
    uint32_t until_timed[WT_COPIES_SIZES];
    uint32_t group[WT_COPIES_SIZES];
};

static _Thread_local struct self own;

static inline uint64_t ticks(void) {
    __builtin_ia32_lfence();
    const uint64_t now = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return now;
}

/* A handler that interrupts the thread in the middle of this, and copies, may lose its own count. */
static inline void add(const struct self *self, uint64_t *counter, uint64_t more) {
    if (__builtin_expect(self->shares, 0))
        __atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
    else
        __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
}

static inline unsigned size_of(size_t bytes) {
    const unsigned size = bytes ? 64u - (unsigned)__builtin_clzll(bytes) : 0;
    return size < WT_COPIES_SIZES ? size : WT_COPIES_SIZES - 1u;
}

static void draw_next(struct self *self, unsigned size) {
    const uint32_t mean = size >= TIMED_ALL ? 1 : size >= TIMED_EIGHTH ? 8 : 64;
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    self->until_timed[size] = 1 + (uint32_t)((self->random >> 32) % (2 * mean - 1));
}

/* A row for a thread that is new, or of the child of a fork. */
static __attribute__((noinline)) void enter(struct self *self) {
    const uint32_t process = (uint32_t)syscall(SYS_getpid);
    const uint32_t before = __atomic_fetch_add(&wt_page->threads, 1, __ATOMIC_RELAXED);
    const bool shares = before >= WT_COPIES_THREADS - 1u;
    struct wt_copies_thread *const row = &wt_page->thread[shares ? WT_COPIES_THREADS - 1u : before];
    row->process = process;
    row->thread = shares ? 0 : (uint32_t)syscall(SYS_gettid);
    for (unsigned i = 0; i < WT_COPIES_PROGRAM; i++) /* atomic, so that no compiler makes a memcpy of it */
        __atomic_store_n(&row->program[i], wt_program[i], __ATOMIC_RELAXED);
    self->shares = shares;
    self->random = ((uint64_t)process << 32 | before) * 0x9e3779b97f4a7c15ull + 1;
    self->cpu_time_at = 0;
    for (unsigned size = 0; size < WT_COPIES_SIZES; size++) draw_next(self, size);
    self->process = process;
    __atomic_store_n(wt_process, process, __ATOMIC_RELAXED);
    self->row = row;
}

static inline void count(const struct self *self, enum wt_copies_function function, unsigned size,
                         const void *to, const void *from, size_t bytes) {
    struct wt_copies_size *const counters = &self->row->size[size];
    const uintptr_t source = (uintptr_t)from, destination = (uintptr_t)to;
    add(self, &self->row->calls[function], 1);
    add(self, &counters->copies, 1);
    add(self, &counters->bytes, bytes);
    if (source % LINE_BYTES == 0) add(self, &counters->source_on_line, 1);
    if (destination % LINE_BYTES == 0) add(self, &counters->destination_on_line, 1);
    if (source % PAGE_BYTES == 0) add(self, &counters->source_on_page, 1);
    if (destination % PAGE_BYTES == 0) add(self, &counters->destination_on_page, 1);
    if (source - destination < bytes || destination - source < bytes) add(self, &counters->overlapping, 1);
}

static uint64_t cpu_ns(void) {
    struct timespec time = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void keep_cpu_time(struct self *self, uint64_t ns) {
    if (!self->shares) __atomic_store_n(&self->row->cpu_ns, ns, __ATOMIC_RELAXED);
}

static void keep_time(struct self *self, unsigned size, uint64_t time, uint64_t empty) {
    struct wt_copies_timed *const timed =
        &self->row->size[size].timed[self->group[size]++ % WT_COPIES_GROUPS];
    add(self, &timed->copies, 1);
    add(self, &timed->time, time);
    add(self, &timed->empty, empty);
}

/* Counts the copy, and keeps what that takes, with all that is behind it. */
static void count_timed(struct self *self, enum wt_copies_function function, unsigned size, const void *to,
                        const void *from, size_t bytes) {
    struct wt_copies_own *const taken = &self->row->own;
    const uint64_t begin = ticks();
    count(self, function, size, to, from, bytes);
    const uint64_t counted = ticks();
    const uint64_t waited = ticks();
    draw_next(self, size);
    if (size < WT_COPIES_BY_CPU_TIME && (!self->cpu_time_at || begin - self->cpu_time_at > CPU_TIME_TICKS)) {
        self->cpu_time_at = begin;
        keep_cpu_time(self, cpu_ns());
    }
    const uint64_t end = ticks();
    if (end - begin > INTERRUPTED_TICKS) return;
    add(self, &taken->timed, 1);
    add(self, &taken->counted_ticks, counted - begin);
    add(self, &taken->empty_ticks, waited - counted);
    add(self, &taken->ticks, end - begin);
}

static void copy_by_ticks(struct self *self, unsigned size, void *to, const void *from, size_t bytes) {
    const uint64_t begin = ticks();
    wt_move(to, from, bytes);
    const uint64_t copied = ticks();
    const uint64_t waited = ticks();
    if (copied - begin > INTERRUPTED_TICKS + INTERRUPTED_TICKS_A_BYTE * bytes ||
        waited - copied > INTERRUPTED_TICKS / 8) {
        add(self, &self->row->size[size].interrupted, 1);
        return;
    }
    keep_time(self, size, copied - begin, waited - copied);
    add(self, &self->row->own.ticks, 2 * (waited - copied));
}

static void copy_by_cpu_time(struct self *self, unsigned size, void *to, const void *from, size_t bytes) {
    const uint64_t begin = cpu_ns();
    wt_move(to, from, bytes);
    const uint64_t copied = cpu_ns();
    const uint64_t waited = cpu_ns();
    keep_time(self, size, copied - begin, waited - copied);
    keep_cpu_time(self, waited);
    add(self, &self->row->own.ns, 3 * (waited - copied));
}

static __attribute__((noinline)) void *copy_timed(struct self *self, enum wt_copies_function function,
                                                  unsigned size, void *to, const void *from, size_t bytes) {
    if (size < WT_COPIES_BY_CPU_TIME)
        copy_by_ticks(self, size, to, from, bytes);
    else
        copy_by_cpu_time(self, size, to, from, bytes);
    count_timed(self, function, size, to, from, bytes);
    return to;
}

void *wt_copy(enum wt_copies_function function, void *to, const void *from, size_t bytes) {
    wt_move_function *const move = __atomic_load_n(&wt_move, __ATOMIC_ACQUIRE);
    if (__builtin_expect(!move, 0)) {
        wt_count_early();
        return wt_move_plainly(to, from, bytes);
    }
    if (!wt_page) return move(to, from, bytes);
    struct self *const self = &own;
    if (__builtin_expect(!self->row || self->process != __atomic_load_n(wt_process, __ATOMIC_RELAXED), 0))
        enter(self);
    const unsigned size = size_of(bytes);
    if (--self->until_timed[size] == 0) return copy_timed(self, function, size, to, from, bytes);
    count(self, function, size, to, from, bytes);
    return move(to, from, bytes);
}
