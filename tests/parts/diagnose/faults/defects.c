/* A message handler with one defect, of a kind that bug reports of data planes have. It is written against
 * the public header alone, and its name and help say nothing of the defect: a diagnosis has to find it by
 * what it does.
 *
 *     cc -std=gnu11 -O2 -shared -fPIC -I include -o tests/parts/diagnose/faults/defects.so
 * tests/parts/diagnose/faults/defects.c */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <windtunnel/handler.h>

enum { PLAIN, LOCKED, COUNTED, SHARED, CALLED, LOGGED, FAULTED, ALLOCATED, WALKED, COPIED, RARE, TIMED };
static const char *const kinds[] = {"plain",   "locked",    "counted", "shared", "called", "logged",
                                    "faulted", "allocated", "walked",  "copied", "rare",   "timed"};

struct line {
    _Alignas(64) _Atomic uint64_t value;
};

/* What both sides have in common: a lock, a counter, and two counters beside each other or apart. */
static _Alignas(128) atomic_flag lock = ATOMIC_FLAG_INIT;
static _Alignas(128) _Atomic uint64_t counter;
static _Alignas(128) _Atomic uint64_t beside[16];
static struct line apart[16];

struct defect {
    int kind, fd, client;
    uint64_t work, every, bytes, times, seen, x, due;
    uint8_t *memory;
};

static const struct wt_option options[] = {
    {"kind", "plain", "plain|locked|counted|shared|called|logged|faulted|allocated|walked|copied|rare|timed",
     "variant", WT_CHOICE, 0},
    {"work", "0", NULL, "units of work", WT_COUNT, 0},
    {"every", "1", NULL, "period", WT_COUNT, 0},
    {"times", "1", NULL, "repetitions", WT_COUNT, 0},
    {"state", "65536", NULL, "memory", WT_BYTES, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

static uint64_t multiply(uint64_t x, uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static void locked(struct defect *d) {
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) __builtin_ia32_pause();
    d->x = multiply(d->x, d->work);
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

/* Plain stores: no instruction of them is expensive by itself. */
static void count_beside(struct defect *d, int alone) {
    for (uint64_t i = 0; i < d->times; ++i) {
        _Atomic uint64_t *const own = alone ? &apart[8 * d->client].value : &beside[d->client];
        atomic_store_explicit(own, atomic_load_explicit(own, memory_order_relaxed) + 1, memory_order_relaxed);
        __asm__ volatile("" ::: "memory");
    }
}

static void walk(struct defect *d) {
    for (uint64_t i = 0; i < d->times; ++i) {
        d->x = d->x * 6364136223846793005ull + 1442695040888963407ull;
        d->x += d->memory[(d->x >> 24) % d->bytes];
    }
}

/* Pages that are given back and touched again. */
static void fault(struct defect *d) {
    madvise(d->memory, d->bytes, MADV_DONTNEED);
    for (uint64_t at = 0; at < d->bytes; at += 4096) d->memory[at] = 1;
}

/* As a large malloc does for each message. */
static void allocate(struct defect *d) {
    uint8_t *const block = mmap(NULL, d->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return;
    d->x += block[d->bytes / 2] = 1;
    munmap(block, d->bytes);
}

/* By the clock, not by messages: as a timer that every loop looks at. */
static void timer(struct defect *d) {
    const uint64_t now = wt_ticks();
    if (now < d->due) return;
    d->x = multiply(d->x, d->work);
    d->due = now + d->every;
}

/* The response is written several times, as where each layer has a buffer of its own. */
static void copy(struct defect *d, struct wt_exchange *exchange) {
    for (uint64_t i = 0; i < d->times; ++i) wt_response_copy(exchange, 0, d->memory, (uint32_t)d->bytes);
}

static void serve(struct defect *d) {
    const int due = ++d->seen % d->every == 0;
    switch (d->kind) {
        case LOCKED: locked(d); break;
        case COUNTED:
            for (uint64_t i = 0; i < d->times; ++i) atomic_fetch_add(&counter, 1);
            break;
        case SHARED: count_beside(d, 0); break;
        case CALLED:
            if (due) d->x += (uint64_t)syscall(SYS_getppid);
            break;
        case LOGGED:
            if (due && write(d->fd, d->memory, 128) < 0) d->x++;
            break;
        case FAULTED:
            if (due) fault(d);
            break;
        case ALLOCATED:
            if (due) allocate(d);
            break;
        case WALKED: walk(d); break;
        case RARE:
            if (due) d->x = multiply(d->x, d->work);
            break;
        case PLAIN: d->x = multiply(d->x, d->work); break;
        default: break;
    }
}

static int open_(const struct wt_open *open, void **state) {
    struct defect *const d = calloc(1, sizeof *d);
    if (!d) return -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (!strcmp(open->options[0].value, kinds[i])) d->kind = (int)i;
    d->work = strtoull(open->options[1].value, NULL, 10);
    d->every = strtoull(open->options[2].value, NULL, 10);
    d->times = strtoull(open->options[3].value, NULL, 10);
    d->bytes = strtoull(open->options[4].value, NULL, 10);
    d->every += !d->every;
    d->client = open->role == WT_CLIENT;
    d->x = open->seed | 1;
    d->fd = openat(AT_FDCWD, "/dev/null", O_WRONLY);
    d->memory = mmap(NULL, d->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (d->memory == MAP_FAILED) return -1;
    memset(d->memory, 1, d->bytes);
    *state = d;
    return 0;
}

static void close_(void *state) {
    struct defect *const d = state;
    if (d->fd >= 0) close(d->fd);
    munmap(d->memory, d->bytes);
    free(d);
}

static void message(void *state, struct wt_exchange *burst, uint32_t count) {
    struct defect *const d = state;
    if (d->kind == TIMED) timer(d);
    for (uint32_t i = 0; i < count; ++i) {
        serve(d);
        if (d->kind == COPIED) copy(d, &burst[i]);
    }
}

static void request(void *state, const struct wt_message *burst, uint32_t count) {
    struct defect *const d = state;
    for (uint32_t i = 0; i < count; ++i) {
        if (burst[i].segment_count && burst[i].segments[0].length)
            burst[i].segments[0].data[0] = (uint8_t)d->x;
        if (d->kind == LOCKED || d->kind == COUNTED || d->kind == SHARED) serve(d);
    }
}

const struct wt_handler wt_handler = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "defects",
    .help = "a service",
    .kind = WT_MESSAGE_HANDLER,
    .options = options,
    .open = open_,
    .close = close_,
    .message = message,
    .request = request,
};
