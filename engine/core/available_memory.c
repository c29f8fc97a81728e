#include "core/available_memory.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The number behind `key` in a file of lines; `otherwise` where there is none, as for "max". An empty key:
 * the file is that number. */
static uint64_t number_in(const char *directory, const char *name, const char *key, uint64_t otherwise) {
    char path[PATH_MAX], line[128];
    unsigned long long number = otherwise;
    const size_t length = strlen(key);
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path) return otherwise;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0 && sscanf(line + length, "%llu", &number) == 1) break;
    if (file) fclose(file);
    return number;
}

/* What a cgroup has beside its limit. Pages of files that are not in use count as used, and are given back.
 */
static uint64_t left_in(const char *directory, int second) {
    const uint64_t most =
        number_in(directory, second ? "memory.max" : "memory.limit_in_bytes", "", UINT64_MAX);
    const uint64_t used = number_in(directory, second ? "memory.current" : "memory.usage_in_bytes", "", 0);
    const uint64_t files =
        number_in(directory, "memory.stat", second ? "inactive_file " : "total_inactive_file ", 0);
    const uint64_t held = used > files ? used - files : 0;
    if (most == UINT64_MAX) return most;
    return most > held ? most - held : 0;
}

/* From a cgroup up to the root of its hierarchy, which in a container is the container's own. */
static uint64_t least_left(char *directory, size_t root_length, int second) {
    uint64_t least = UINT64_MAX;
    for (;;) {
        const uint64_t left = left_in(directory, second);
        if (left < least) least = left;
        char *last = strrchr(directory, '/');
        if (!last || (size_t)(last - directory) < root_length) return least;
        *last = '\0';
    }
}

uint64_t left_in_cgroups(const char *cgroups, const char *root) {
    uint64_t least = UINT64_MAX;
    char line[PATH_MAX], directory[2 * PATH_MAX];
    FILE *file = fopen(cgroups, "r");
    while (file && fgets(line, sizeof line, file)) { /* "4:memory:/path" or, of version 2, "0::/path" */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        const int second = controllers[1] == '\0';
        if (!second && !strstr(controllers, "memory")) continue;
        const int root_length = snprintf(directory, sizeof directory, "%s%s", root, second ? "" : "/memory");
        snprintf(directory + root_length, sizeof directory - (size_t)root_length, "%s", path);
        const uint64_t left = least_left(directory, (size_t)root_length, second);
        if (left < least) least = left;
    }
    if (file) fclose(file);
    return least;
}

uint64_t available_memory(void) {
    const uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t kib = number_in("/proc", "meminfo", "MemAvailable:", machine / 1024);
    const uint64_t left = left_in_cgroups("/proc/self/cgroup", "/sys/fs/cgroup");
    return left < kib * 1024 ? left : kib * 1024;
}
