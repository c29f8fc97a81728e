/* observe PID [KEY=NUMBER...]: takes the lease of the probe in that process, keeps it for `for` ms or until
 * SIGTERM, gives it back, and prints the page as JSON. Keys: modes on_us period_us timed_every interrupted_us
 * delay_thread delay_ticks fill_ticks delay_ms for lease_ms give_back (0: the lease runs out by itself). It
 * is the observer of the tests: it refuses what it cannot do with exit code 2. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../page.h"
#include "keys.h"

static struct key keys[] = {{"modes", WT_ATTACH_COUNTS},
                            {"on_us", 100000},
                            {"period_us", 100000},
                            {"timed_every", 64},
                            {"interrupted_us", 0},
                            {"delay_thread", 0},
                            {"delay_ticks", 0},
                            {"fill_ticks", 0},
                            {"delay_ms", 0},
                            {"for", 500},
                            {"lease_ms", 1000},
                            {"give_back", 1},
                            {NULL, 0}};

static volatile sig_atomic_t asked_to_end;

static void end(int number) {
    (void)number;
    asked_to_end = 1;
}

static uint64_t value_of(const char *name) { return value_in(keys, name); }

static void refuse(const char *why) {
    fprintf(stderr, "error: %s\n", why);
    exit(2);
}

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static struct wt_attach_page *open_page(const char *pid) {
    char path[300], target[256];
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *const folder = opendir(path);
    if (!folder) refuse("there is no such process, or it is not ours");
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/%s/fd/%.20s", pid, entry->d_name);
        const ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0) continue;
        target[length] = 0;
        if (strncmp(target, "/memfd:" WT_ATTACH_NAME " ", sizeof "/memfd:" WT_ATTACH_NAME)) continue;
        const int file = open(path, O_RDWR);
        void *const page =
            mmap(NULL, sizeof(struct wt_attach_page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (page == MAP_FAILED) refuse("the page cannot be mapped");
        closedir(folder);
        return page;
    }
    refuse("there is no probe in this process");
    return NULL;
}

static void wake(struct wt_attach_page *page) {
    __atomic_fetch_add(&page->control.sequence, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &page->control.sequence, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void print_array(const char *name, const uint64_t *values, unsigned count) {
    printf(",\"%s\":[", name);
    for (unsigned i = 0; i < count; i++) printf("%s%lu", i ? "," : "", values[i]);
    printf("]");
}

static void print_channel(const struct wt_attach_channel *c) {
    printf("{\"thread\":%u,\"port\":%u,\"queue\":%u,\"direction\":%u,\"lcore\":%u,\"asked\":%u,\"ended\":%u",
           c->thread, c->port, c->queue, c->direction, c->lcore, c->asked, c->ended);
    printf(",\"calls\":%lu,\"packets\":%lu,\"refused\":%lu", c->calls, c->packets, c->refused);
    printf(",\"interrupted_turns\":%lu,\"interrupted_ticks\":%lu", c->interrupted_turns,
           c->interrupted_ticks);
    printf(",\"sized_packets\":%lu,\"sized_bytes\":%lu", c->sized_packets, c->sized_bytes);
    printf(",\"delays_lost\":%lu,\"delayed_ticks\":%lu", c->delays_lost, c->delayed_ticks);
    print_array("bursts", c->bursts, WT_ATTACH_BURSTS);
    print_array("sizes", c->sizes, WT_ATTACH_SIZES);
    print_array("delays", c->delays, WT_ATTACH_DELAYS);
    printf(",\"timed\":[");
    for (unsigned i = 0; i < WT_ATTACH_BURSTS; i++)
        printf("%s[%lu,%lu,%lu,%lu]", i ? "," : "", c->timed[i].turns, c->timed[i].rx_ticks,
               c->timed[i].application_ticks, c->timed[i].tx_ticks);
    printf("]}");
}

static void print_page(const struct wt_attach_page *page, uint64_t hz) {
    printf(
        "{\"state\":%u,\"refusal\":\"%s\",\"release\":[%u,%u],\"ports\":%u,\"watcher\":%u,\"channels_"
        "refused\":%u",
        page->state, page->refusal, page->year, page->month, page->ports, page->watcher,
        page->channels_refused);
    printf(",\"present_ticks\":%lu,\"lease_ends\":%lu,\"hz\":%lu,\"port\":[", page->present_ticks,
           page->lease_ends, hz);
    for (unsigned i = 0; i < page->ports; i++) {
        const struct wt_attach_port *const p = &page->port[i];
        printf("%s{\"wrapped\":%u,\"attached\":%u,\"wraps\":%lu,\"displaced\":%lu", i ? "," : "", p->wrapped,
               p->attached, p->wraps, p->displaced);
        print_array("stats", &p->ipackets, 8);
        print_array("present", &p->present.phases, 4);
        print_array("absent", &p->absent.phases, 4);
        printf("}");
    }
    printf("],\"channel\":[");
    for (unsigned i = 0; i < WT_ATTACH_CHANNELS && page->channel[i].thread; i++) {
        if (i) printf(",");
        print_channel(&page->channel[i]);
    }
    printf("]}\n");
}

int main(int count, char **arguments) {
    if (count < 2) refuse("usage: observe PID [KEY=NUMBER...]");
    for (int i = 2; i < count; i++)
        if (!set_key(keys, arguments[i])) refuse(arguments[i]);
    signal(SIGTERM, end);
    struct wt_attach_page *const page = open_page(arguments[1]);
    for (const uint64_t late = now_ns() + 1000000000;
         __atomic_load_n(&page->magic, __ATOMIC_ACQUIRE) != WT_ATTACH_MAGIC;)
        if (now_ns() > late) refuse("the page is not ready");
    uint64_t nobody = 0;
    if (!__atomic_compare_exchange_n(&page->control.observer, &nobody, (uint64_t)getpid() << 32 | 1, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        refuse("another observer has the lease");
    struct wt_attach_control *const control = &page->control;
    control->modes = (uint32_t)value_of("modes");
    control->on_us = (uint32_t)value_of("on_us");
    control->period_us = (uint32_t)value_of("period_us");
    control->timed_every = (uint32_t)value_of("timed_every");
    control->interrupted_us = (uint32_t)value_of("interrupted_us");
    control->delay_thread = (uint32_t)value_of("delay_thread");
    control->delay_ticks = (uint32_t)value_of("delay_ticks");
    control->fill_ticks = (uint32_t)value_of("fill_ticks");
    const uint64_t begin = now_ns(), lease = value_of("lease_ms") * 1000000;
    const uint64_t begin_ticks = __builtin_ia32_rdtsc();
    control->delay_until_ns = begin + value_of("delay_ms") * 1000000;
    for (uint64_t now = begin; !asked_to_end && now - begin < value_of("for") * 1000000; now = now_ns()) {
        const uint64_t had = control->lease_until_ns;
        __atomic_store_n(&control->lease_until_ns, now + lease, __ATOMIC_RELEASE);
        if (had < now) {
            wake(page);
            puts("leased");
            fflush(stdout);
        }
        usleep(10000);
    }
    const uint64_t ticks = __builtin_ia32_rdtsc() - begin_ticks, ns = now_ns() - begin;
    if (value_of("give_back")) {
        __atomic_store_n(&control->lease_until_ns, 0, __ATOMIC_RELEASE);
        const uint64_t ends = page->lease_ends;
        wake(page);
        for (const uint64_t late = now_ns() + 2000000000;
             __atomic_load_n(&page->lease_ends, __ATOMIC_ACQUIRE) == ends;)
            if (now_ns() > late) break;
    }
    control->observer = 0;
    print_page(page, ticks * 1000000000 / ns);
    return 0;
}
