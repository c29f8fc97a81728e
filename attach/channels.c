/* Threads come and go, and queues are made anew when a port is configured. So a thread finds its channel by
 * the address of the queue, in a table of its own that is emptied with each generation, and the page is asked
 * only when that has nothing. */
#include "channels.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "release.h"

struct wt_settings wt_settings;
_Thread_local struct wt_thread *wt_self;

static struct wt_attach_page *page;
static struct wt_thread threads[WT_THREADS];
static pthread_key_t ending;
static bool lock; /* of both tables; taken when a thread or queue is new */

static void take_lock(void) {
    while (__atomic_exchange_n(&lock, true, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}
static void give_lock(void) { __atomic_store_n(&lock, false, __ATOMIC_RELEASE); }

static void leave_thread(void *ended) {
    struct wt_thread *const self = ended;
    take_lock();
    for (unsigned i = 0; i < WT_ATTACH_CHANNELS && page->channel[i].thread; i++)
        if (page->channel[i].thread == self->tid) page->channel[i].ended = 1;
    wt_self = NULL;
    self->tid = 0;
    give_lock();
}

void wt_open_channels(struct wt_attach_page *opened) {
    page = opened;
    pthread_key_create(&ending, leave_thread);
}

void wt_forget_threads(void) {
    memset(threads, 0, sizeof threads);
    wt_self = NULL;
    pthread_setspecific(ending, NULL);
    lock = false;
}

struct wt_thread *wt_enter_thread(void) {
    struct wt_thread *self = NULL;
    take_lock();
    for (unsigned i = 0; i < WT_THREADS && !self; i++)
        if (!threads[i].tid) self = &threads[i];
    if (self) {
        memset(self, 0, sizeof *self);
        self->tid = (uint32_t)gettid();
    } else {
        page->channels_refused++;
    }
    give_lock();
    if (!self) return NULL;
    self->random = self->tid * 0x9e3779b97f4a7c15ull;
    wt_self = self;
    pthread_setspecific(ending, self);
    return self;
}

void wt_renew_thread(struct wt_thread *self) {
    self->generation = __atomic_load_n(&wt_settings.generation, __ATOMIC_ACQUIRE);
    memset(self->slots, 0, sizeof self->slots);
    self->filled = 0;
    self->in_block = 0;
    self->gap = 1 + (uint32_t)(wt_random(self) % (2 * (uint64_t)wt_read(&wt_settings.timed_every) + 1));
}

/* The number of the queue with these data. DPDK has WT_RELEASE_QUEUES places for each port, free ones too. */
static uint16_t queue_number(const void *queue, unsigned port, unsigned direction) {
    void *const *const queues = wt_queues_of(port, direction);
    if (!queues || !wt_port_is_attached(port)) return 0xffff;
    for (unsigned i = 0; i < WT_RELEASE_QUEUES; i++)
        if (__atomic_load_n(&queues[i], __ATOMIC_RELAXED) == queue) return (uint16_t)i;
    return 0xffff;
}

/* One that is there, a free one, or the first whose thread has ended; NULL: all are in use. */
static struct wt_attach_channel *find_channel(uint32_t tid, unsigned port, uint16_t queue,
                                              unsigned direction) {
    struct wt_attach_channel *used = NULL;
    for (struct wt_attach_channel *c = page->channel; c < page->channel + WT_ATTACH_CHANNELS; c++) {
        if (!c->thread || (c->thread == tid && !c->ended && c->port == port && c->queue == queue &&
                           c->direction == direction))
            return c;
        if (c->ended && !used) used = c;
    }
    return used;
}

struct wt_attach_channel *wt_enter_channel(struct wt_thread *self, const void *queue, unsigned port,
                                           unsigned direction) {
    if (self->filled == WT_MOST_SLOTS) return NULL;
    const uint16_t number = queue_number(queue, port, direction);
    take_lock();
    struct wt_attach_channel *const channel = find_channel(self->tid, port, number, direction);
    if (!channel) {
        page->channels_refused++;
    } else if (!channel->thread || channel->ended) {
        const size_t counters = offsetof(struct wt_attach_channel, asked);
        memset((char *)channel + counters, 0, sizeof *channel - counters);
        channel->port = (uint16_t)port;
        channel->queue = number;
        channel->direction = (uint16_t)direction;
        channel->lcore = wt_lcore();
        __atomic_store_n(&channel->thread, self->tid, __ATOMIC_RELEASE);
    }
    give_lock();
    if (direction == WT_ATTACH_RX) self->receives = 1;
    uint64_t i = (uint64_t)queue >> 6 ^ (uint64_t)queue >> 13 ^ direction;
    while (self->slots[i % WT_SLOTS].key) i++;
    self->slots[i % WT_SLOTS].key = (uint64_t)queue | (uint64_t)(port * 2 + direction + 1) << 48;
    self->slots[i % WT_SLOTS].channel = channel;
    self->filled++;
    return channel;
}
