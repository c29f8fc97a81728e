/* The layouts are those of lib/ethdev/rte_ethdev_core.h in DPDK v21.11 to v26.07; a release that is not among
 * them is refused, because nothing in the process says where its functions are. */
#include "release.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "page.h"

struct wt_release wt_release;

/* From this release on (year * 100 + month), the layout holds. */
static const struct {
    unsigned since;
    struct wt_layout layout[2];
} layouts[] = {
    {2111, {{.burst = 0, .queues = 24}, {.burst = 64, .queues = 88}}},
    {2311, {{.burst = 16, .queues = 0}, {.burst = 80, .queues = 64}}},
};
enum { LAST_RELEASE = 2607 };

static char refusal[WT_ATTACH_REFUSAL];

/* Thread-local storage has another address in each thread, and dlsym() in a thread of the data path would
 * take the loader's lock there. So its module and offset are kept, from which each thread finds its own
 * without a lock. */
static void find_lcore(void) {
    char *const here = dlsym(RTLD_DEFAULT, "per_lcore__lcore_id");
    void *const neighbour = dlsym(RTLD_DEFAULT, "rte_version_year");
    struct link_map *map = NULL;
    Dl_info info;
    char *block = NULL;
    size_t module = 0;
    if (!here || !dladdr1(neighbour, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return;
    if (dlinfo(map, RTLD_DI_TLS_MODID, &module) || dlinfo(map, RTLD_DI_TLS_DATA, &block) || !block) return;
    wt_release.lcore.module = module;
    wt_release.lcore.offset = (unsigned long)(here - block);
}

extern void *__tls_get_addr(void *index);

uint16_t wt_lcore(void) {
    if (!wt_release.lcore.module) return 0xffff;
    const unsigned lcore = *(const unsigned *)__tls_get_addr(&wt_release.lcore);
    return lcore < 0xffff ? (uint16_t)lcore : 0xffff;
}

const char *wt_find_release(void) {
    const void *const entries = dlsym(RTLD_DEFAULT, "rte_eth_fp_ops");
    unsigned (*const year)(void) = (unsigned (*)(void))dlsym(RTLD_DEFAULT, "rte_version_year");
    unsigned (*const month)(void) = (unsigned (*)(void))dlsym(RTLD_DEFAULT, "rte_version_month");
    if (!entries || !year || !month)
        return "this process exports no rte_eth_fp_ops and rte_version_year: it has no DPDK, or hides its "
               "symbols";
    wt_release.year = year();
    wt_release.month = month();

    const unsigned release = wt_release.year * 100 + wt_release.month;
    const struct wt_layout *layout = NULL;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (release >= layouts[i].since) layout = layouts[i].layout;
    if (!layout || release > LAST_RELEASE) {
        snprintf(refusal, sizeof refusal, "DPDK %02u.%02u is not known: 21.11 to 26.07 are", wt_release.year,
                 wt_release.month);
        return refusal;
    }
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1(entries, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || !symbol->st_size ||
        symbol->st_size % WT_RELEASE_STRIDE) {
        snprintf(refusal, sizeof refusal, "rte_eth_fp_ops has %zu bytes, which are no entries of %d bytes",
                 symbol ? (size_t)symbol->st_size : 0, WT_RELEASE_STRIDE);
        return refusal;
    }
    const size_t ports = symbol->st_size / WT_RELEASE_STRIDE;
    wt_release.ports = ports < WT_ATTACH_PORTS ? (unsigned)ports : WT_ATTACH_PORTS;
    memcpy(wt_release.layout, layout, sizeof wt_release.layout);
    wt_release.stats_get = (int (*)(uint16_t, void *))dlsym(RTLD_DEFAULT, "rte_eth_stats_get");
    find_lcore();
    wt_release.entries = (char *)entries;
    return NULL;
}

bool wt_port_is_attached(unsigned port) {
    return __atomic_load_n(wt_burst_of(port, WT_ATTACH_RX), __ATOMIC_RELAXED) &&
           __atomic_load_n(wt_burst_of(port, WT_ATTACH_TX), __ATOMIC_RELAXED) &&
           wt_queues_of(port, WT_ATTACH_RX) != wt_queues_of(port, WT_ATTACH_TX);
}

/* By the kernel's list. Nothing is allocated: the thread that calls may be forked at any moment. */
bool wt_is_code(const void *address) {
    const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) return false;
    static char text[16384];
    size_t have = 0;
    bool code = false;
    for (ssize_t got; (got = read(maps, text + have, sizeof text - 1 - have)) > 0;) {
        have += (size_t)got;
        text[have] = 0;
        char *line = text;
        for (char *end; (end = strchr(line, '\n')); line = end + 1) {
            unsigned long first = 0, behind = 0;
            char execute = '-';
            if (sscanf(line, "%lx-%lx %*c%*c%c", &first, &behind, &execute) == 3 && execute == 'x')
                code = code || ((unsigned long)address >= first && (unsigned long)address < behind);
        }
        have -= (size_t)(line - text);
        memmove(text, line, have);
    }
    close(maps);
    return code;
}
