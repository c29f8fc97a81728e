#include "foreign.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number of the mount that an open file is of, or -1. */
static int mount_of(int file) {
    char path[64], line[128];
    int mount = -1;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", file);
    FILE *const facts = fopen(path, "re");
    while (facts && mount < 0 && fgets(line, sizeof line, facts)) sscanf(line, "mnt_id: %d", &mount);
    if (facts) fclose(facts);
    return mount;
}

/* All memfds are of one mount, on which nothing else lies that can be opened by a name. */
static bool is_memfd(int place) {
    const int own = memfd_create("windtunnel-mount", MFD_CLOEXEC), mount = mount_of(own);
    if (own >= 0) close(own);
    return mount >= 0 && mount_of(place) == mount;
}

static bool is_regular(int place) {
    struct stat facts;
    return fstat(place, &facts) == 0 && S_ISREG(facts.st_mode);
}

static int open_if(const char *path, bool (*fits)(int place)) {
    char same[64];
    const int place = open(path, O_PATH | O_CLOEXEC);
    snprintf(same, sizeof same, "/proc/self/fd/%d", place);
    const int file = place >= 0 && fits(place) ? open(same, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (place >= 0) close(place);
    return file;
}

int wt_open_memfd(const char *path) { return open_if(path, is_memfd); }

int wt_open_regular(const char *path) { return open_if(path, is_regular); }
