#include "process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

wt_move_function *wt_move;
struct wt_copies_page *wt_page;
char wt_program[WT_COPIES_PROGRAM];

static _Alignas(PAGE_BYTES) union {
    uint32_t process;
    uint8_t page[PAGE_BYTES];
} wiped; /* by the kernel, in the child of each fork */
uint32_t *const wt_process = &wiped.process;

static uint64_t early;

void wt_count_early(void) { __atomic_fetch_add(&early, 1, __ATOMIC_RELAXED); }

/* The name of the file, without its directories. */
static void read_program(void) {
    char path[PAGE_BYTES];
    const ssize_t bytes = readlink("/proc/self/exe", path, sizeof path);
    ssize_t begin = bytes;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    for (ssize_t i = 0; begin + i < bytes && i < WT_COPIES_PROGRAM - 1; i++) wt_program[i] = path[begin + i];
}

/* Whether a descriptor is the page: in another pid namespace the path may lead to anything. */
static bool is_page(int descriptor) {
    struct stat facts;
    struct {
        uint64_t magic;
        uint32_t abi, bytes;
    } head;
    return fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) &&
           facts.st_size == sizeof(struct wt_copies_page) &&
           pread(descriptor, &head, sizeof head, 0) == sizeof head && head.magic == WT_COPIES_MAGIC &&
           head.abi == WT_COPIES_ABI && head.bytes == sizeof(struct wt_copies_page);
}

/* Whether the process that a path names has this user. Once the command has ended, its number may be
 * anybody's, whose file could keep us waiting in open(), or be cut off while it is mapped. */
static bool is_of_own_process(const char *path) {
    char process[sizeof "/proc/4294967295"];
    unsigned number;
    int end = 0;
    struct stat facts;
    if (sscanf(path, "/proc/%u/fd/%*u%n", &number, &end) != 1 || !end || path[end]) return false;
    snprintf(process, sizeof process, "/proc/%u", number);
    return stat(process, &facts) == 0 && facts.st_uid == geteuid();
}

static struct wt_copies_page *open_page(void) {
    const char *const path = secure_getenv(WT_COPIES_VARIABLE);
    if (!path || !is_of_own_process(path)) return NULL;
    const int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return NULL;
    void *place = MAP_FAILED;
    if (is_page(descriptor))
        place = mmap(NULL, sizeof(struct wt_copies_page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return place == MAP_FAILED ? NULL : place;
}

__attribute__((constructor)) static void begin(void) {
    wt_move_function *move;
    *(void **)&move = dlsym(RTLD_NEXT, "memmove");
    if (!move) return; /* a program without the C library */
    struct wt_copies_page *const page =
        madvise(&wiped, sizeof wiped, MADV_WIPEONFORK) == 0 ? open_page() : NULL;
    if (page) {
        read_program();
        __atomic_fetch_add(&page->processes, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&page->early, early, __ATOMIC_RELAXED);
        __atomic_store_n(&wt_page, page, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&wt_move, move, __ATOMIC_RELEASE);
}
