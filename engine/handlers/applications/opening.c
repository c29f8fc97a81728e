#include "handlers/applications/opening.h"

#include <linux/mempolicy.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/available_memory.h"

int wt_refuse(const struct wt_open *open, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(open->error, open->error_size, format, arguments);
    va_end(arguments);
    return -1;
}

const char *wt_text(const struct wt_open *open, const char *name) {
    for (uint32_t i = 0; i < open->option_count; ++i)
        if (strcmp(open->options[i].name, name) == 0) return open->options[i].value;
    return "";
}

uint64_t wt_number(const struct wt_open *open, const char *name) {
    return strtoull(wt_text(open, name), NULL, 10);
}

int wt_real(const struct wt_open *open, const char *name, double *value) {
    const char *text = wt_text(open, name);
    char *end;
    *value = strtod(text, &end);
    if (*end == '\0' && text[0] >= '0' && text[0] <= '9') return 0; /* else "nan", " 1" or "-1" would do */
    return wt_refuse(open, "%s = \"%s\" is not a number, as in %s = 1.5", name, text, name);
}

/* A preference only: a kernel without NUMA, or a node without room, gives what it has. */
static void prefer_node(void *memory, uint64_t bytes, int32_t node) {
    unsigned long nodes[16] = {0};
    const unsigned word = 8 * sizeof nodes[0];
    if (node < 0 || (unsigned)node >= 16 * word) return;
    nodes[(unsigned)node / word] = 1ul << (unsigned)node % word;
    syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED, nodes, 16 * word + 1, 0);
}

/* Main alone opens handlers. */
static uint64_t touchable = UINT64_MAX;
static uint64_t untouched = 0; /* bytes of memory */
static int left_untouched = 0;

void wt_touch_at_most(uint64_t bytes) {
    touchable = bytes;
    untouched = 0;
    left_untouched = 0;
}

int wt_left_untouched(void) { return left_untouched; }

int wt_may_touch(uint64_t bytes) {
    if (bytes > touchable) {
        left_untouched = 1;
        return 0;
    }
    touchable -= bytes;
    return 1;
}

/* Zeros. Whole pages that are not to be touched go back to the kernel, which gives zeros for them. */
static void clear(uint8_t *memory, uint64_t bytes, uint64_t page) {
    const uint64_t whole = bytes < page || wt_may_touch(bytes) ? 0 : bytes / page * page;
    if (whole != 0) madvise(memory, whole, MADV_DONTNEED);
    untouched += whole;
    memset(memory + whole, 0, bytes - whole);
}

/* What nobody has taken, untouched or not. */
static uint64_t free_memory(void) {
    const uint64_t available = available_memory();
    return available > untouched ? available - untouched : 0;
}

void *wt_take_memory(const struct wt_open *open, const char *what, uint64_t bytes) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const int whole_pages = bytes >= page;
    const uint64_t machine = whole_pages ? free_memory() : page;
    void *memory = NULL;
    if (bytes < machine && posix_memalign(&memory, whole_pages ? page : 64, bytes) == 0) {
        if (whole_pages) prefer_node(memory, bytes, open->numa_socket);
        clear(memory, bytes, page);
        return memory;
    }
    wt_refuse(open, "%s takes %llu bytes; %llu are available", what, (unsigned long long)bytes,
              (unsigned long long)machine);
    return NULL;
}

int wt_open_nothing(const struct wt_open *open, void **state) {
    (void)open;
    *state = NULL;
    return 0;
}
