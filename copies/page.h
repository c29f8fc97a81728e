/* The page between `windtunnel copies of` and the library in the program that it starts: a memfd of the
 * command's, sealed, which each process of the program maps when it begins. So counters outlive a process
 * that is killed, and children count in the same page.
 *
 * A row has one writer, its thread; the last row is for all threads that found no other one. Counters are 64
 * bits wide and only grow. Times are TSC ticks, unless the name ends in _ns.
 * src/windtunnel/parts/copies/program_page.py reads the same layout; a test compares both. */
#ifndef WT_COPIES_PAGE_H
#define WT_COPIES_PAGE_H

#include <stdint.h>

#define WT_COPIES_VARIABLE "WINDTUNNEL_COPIES" /* of the environment: a path of the page */
#define WT_COPIES_MAGIC 0x7379706f636e7477ull  /* "wtncopys" */
#define WT_COPIES_ABI 1u

enum {
    WT_COPIES_THREADS = 512,
    WT_COPIES_SIZES = 33,       /* 0 bytes; then [2^(i-1), 2^i); the last one has all above, too */
    WT_COPIES_BY_CPU_TIME = 18, /* 128 KiB: a longer copy may well be interrupted */
    WT_COPIES_GROUPS = 10,      /* timed copies take turns, so that each group is a sample of its own */
    WT_COPIES_PROGRAM = 64,
};

enum wt_copies_function { WT_COPIES_MEMCPY, WT_COPIES_MEMMOVE, WT_COPIES_MEMPCPY, WT_COPIES_FUNCTIONS };

/* Timed copies: TSC ticks, or ns of the thread's CPU time from the size WT_COPIES_BY_CPU_TIME on. `empty` is
 * what the same measurement took each time with nothing to measure. */
struct wt_copies_timed {
    uint64_t copies;
    uint64_t time;
    uint64_t empty;
};

struct wt_copies_size {
    uint64_t copies;
    uint64_t bytes;
    uint64_t source_on_line; /* begins on a cache line, of 64 bytes */
    uint64_t destination_on_line;
    uint64_t source_on_page; /* begins on a page, of 4096 bytes */
    uint64_t destination_on_page;
    uint64_t overlapping; /* source and destination have bytes in common */
    uint64_t interrupted; /* timed, and longer than a copy may take: in no other time */
    struct wt_copies_timed timed[WT_COPIES_GROUPS];
};

/* What the library itself takes. */
struct wt_copies_own {
    uint64_t timed;         /* calls of which the rest is known */
    uint64_t counted_ticks; /* of their counting, as it is in every call, with an empty measurement */
    uint64_t empty_ticks;   /* of an empty measurement each */
    uint64_t ticks;         /* of all that was not their copy... */
    uint64_t ns;            /* ...and of measurements of CPU time */
};

struct wt_copies_thread {
    uint32_t process; /* of the row's first thread, by its own pid namespace */
    uint32_t thread;  /* 0: threads that found no row of their own */
    char program[WT_COPIES_PROGRAM];
    uint64_t cpu_ns; /* of the thread, up to one of its last timed copies */
    uint64_t calls[WT_COPIES_FUNCTIONS];
    struct wt_copies_own own;
    struct wt_copies_size size[WT_COPIES_SIZES];
};

struct wt_copies_page {
    uint64_t magic;
    uint32_t abi;
    uint32_t bytes;     /* of this structure */
    uint32_t processes; /* programs that began with the library; a child of fork() is none of its own */
    uint32_t threads;   /* that made a copy; rows in use, if there are as many */
    uint64_t early;     /* copies before the library was ready: in no other counter */
    struct wt_copies_thread thread[WT_COPIES_THREADS];
};

#endif
