/* windtunnel_attach_start() is called when the library is loaded, by EAL's -d, by LD_PRELOAD or by
 * windtunnel-inject; and once more by windtunnel-inject in a child of fork(), which has the library and no
 * watcher.
 *
 * A child gets the pointers back, private zeros in place of the page, and keeps no descriptor: what it does
 * is no part of what its parent's observer sees. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channels.h"
#include "page.h"
#include "release.h"
#include "watcher.h"
#include "wrap.h"

__attribute__((visibility("default"))) void windtunnel_attach_start(void);

enum { STACK_BYTES = 256 << 10 };

static struct wt_attach_page *page; /* stays where it was first: threads keep addresses in it */
static int descriptor = -1;
static struct stat memfd; /* a daemon may close all descriptors, and have another file by that number */
static bool started;

/* Sealed, so that no observer can cut it off under the threads that write into it. */
static bool make_page(void) {
    descriptor = memfd_create(WT_ATTACH_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0 || ftruncate(descriptor, sizeof *page) || fstat(descriptor, &memfd)) return false;
    fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void *const place =
        mmap(page, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | (page ? MAP_FIXED : 0), descriptor, 0);
    if (place == MAP_FAILED) return false;
    page = place;
    page->abi = WT_ATTACH_ABI;
    page->bytes = sizeof *page;
    return true;
}

static void close_page(void) {
    struct stat facts;
    if (fstat(descriptor, &facts) == 0 && facts.st_ino == memfd.st_ino && facts.st_dev == memfd.st_dev)
        close(descriptor);
    descriptor = -1;
}

static void leave_to_parent(void) {
    if (!page) return;
    memset(&wt_settings, 0, sizeof wt_settings);
    mmap(page, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    wt_unwrap_ports(page);
    close_page();
    wt_forget_threads();
    started = false;
}

static bool start_watcher(void) {
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t watcher;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the application's signals are for its own threads */
    const bool made = pthread_create(&watcher, &attributes, wt_watch, page) == 0;
    if (made) pthread_setname_np(watcher, "wt-attach");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return made;
}

void windtunnel_attach_start(void) {
    if (__atomic_exchange_n(&started, true, __ATOMIC_ACQ_REL)) return;
    const bool first = !page;
    if (!make_page()) return;
    if (first) {
        madvise(&wt_settings, sizeof wt_settings,
                MADV_WIPEONFORK); /* also for a fork that is no pthread_atfork's */
        wt_open_channels(page);
        pthread_atfork(NULL, NULL, leave_to_parent);
    }
    const char *refusal = wt_find_release();
    page->year = wt_release.year;
    page->month = wt_release.month;
    page->ports = wt_release.ports;
    page->state = WT_ATTACH_READY;
    if (!refusal && !start_watcher()) refusal = "no thread could be made in this process";
    if (refusal) {
        snprintf(page->refusal, sizeof page->refusal, "%s", refusal);
        page->state = WT_ATTACH_REFUSED;
    }
    __atomic_store_n(&page->magic, WT_ATTACH_MAGIC, __ATOMIC_RELEASE);
}

__attribute__((constructor)) static void load(void) { windtunnel_attach_start(); }
