/* How much memory is available. */
#ifndef WT_CORE_AVAILABLE_MEMORY_H
#define WT_CORE_AVAILABLE_MEMORY_H

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Bytes available without swapping, as the kernel estimates them. The kernel promises more than it has
 * and then kills the process that uses it: check first. */
static inline uint64_t available_memory(void) {
    unsigned long long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
        continue;
    if (file) fclose(file);
    return kib ? kib * 1024 : (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

#endif
