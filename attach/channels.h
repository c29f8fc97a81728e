/* What a thread of the data path has of its own, and the channels of the page that it counts in. All of it is
 * written by that thread alone, so counting needs no atomic addition. */
#ifndef WT_ATTACH_CHANNELS_H
#define WT_ATTACH_CHANNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "page.h"

/* What the watcher tells the threads. A child of fork() finds zeros here (MADV_WIPEONFORK), and so does
 * nothing. */
struct wt_settings {
    uint32_t modes;      /* 0: calls go straight through */
    uint32_t generation; /* another number: queues may have moved, and a turn was not seen to its end */
    uint32_t timed_every;
    uint32_t delay_thread;
    uint64_t delay_ticks;
    uint64_t fill_ticks;
    uint64_t delay_most;  /* ticks of a call */
    uint64_t delay_until; /* TSC */
    uint64_t interrupted_ticks;
} __attribute__((aligned(4096))); /* a page of its own, for what the kernel does to it */
extern struct wt_settings wt_settings;

enum { WT_SLOTS = 128, WT_MOST_SLOTS = 112, WT_THREADS = 128 };

/* A turn that is being timed. */
struct wt_turn {
    struct wt_attach_channel *channel;
    uint64_t start, rx, tx, delayed;
    uint32_t bin;
};

struct wt_thread {
    uint32_t tid; /* 0: free */
    uint32_t generation;
    uint32_t depth;    /* calls of drivers that it is in: a bonding device's calls others */
    uint32_t gap;      /* rx calls until the next timed block */
    uint32_t in_block; /* turns begun of the block; 0: no block */
    uint32_t filled;   /* slots */
    uint32_t receives; /* 1: it has received from a port */
    uint64_t random;
    struct wt_turn turn;
    struct {
        uint64_t
            key; /* the queue's address, and port and direction in the bits that no address has; 0: free */
        struct wt_attach_channel *channel; /* NULL: there was no room */
    } slots[WT_SLOTS];
};

extern _Thread_local struct wt_thread *wt_self;

/* The calling thread's, made; NULL: there are too many. */
struct wt_thread *wt_enter_thread(void);

/* Forgets what is of another generation. */
void wt_renew_thread(struct wt_thread *self);

/* The channel of this queue, made when it is first seen; NULL: there is no room. */
struct wt_attach_channel *wt_enter_channel(struct wt_thread *self, const void *queue, unsigned port,
                                           unsigned direction);

static inline struct wt_attach_channel *wt_channel_of(struct wt_thread *self, const void *queue,
                                                      unsigned port, unsigned direction) {
    const uint64_t key = (uint64_t)queue | (uint64_t)(port * 2 + direction + 1) << 48;
    for (uint64_t i = (uint64_t)queue >> 6 ^ (uint64_t)queue >> 13 ^ direction;; i++) {
        if (self->slots[i % WT_SLOTS].key == key) return self->slots[i % WT_SLOTS].channel;
        if (!self->slots[i % WT_SLOTS].key) return wt_enter_channel(self, queue, port, direction);
    }
}

/* A setting, or what else another thread may write meanwhile. */
#define wt_read(place) __atomic_load_n(place, __ATOMIC_RELAXED)
#define wt_write(place, value) __atomic_store_n(place, value, __ATOMIC_RELAXED)

/* Adds to a counter with one writer, which others read meanwhile. */
static inline void wt_add(uint64_t *counter, uint64_t amount) {
    __atomic_store_n(counter, *counter + amount, __ATOMIC_RELAXED);
}

static inline uint64_t wt_random(struct wt_thread *self) {
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    return self->random ^= self->random << 17;
}

/* `page` is where channels are; calls once. A failure leaves ended threads unmarked, and nothing else. */
void wt_open_channels(struct wt_attach_page *page);

/* In a child of fork(): there are no threads but this one. */
void wt_forget_threads(void);

#endif
