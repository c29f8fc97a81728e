/* How much memory is available. */
#ifndef WT_CORE_AVAILABLE_MEMORY_H
#define WT_CORE_AVAILABLE_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes available without swapping, as the kernel estimates them, and within the limits of this process's
 * memory cgroup and of those above it. The kernel promises more than it has and then kills the process that
 * uses it: check first. */
uint64_t available_memory(void);

/* What the cgroups of a process leave to it; UINT64_MAX without a limit. `cgroups`: its file
 * /proc/PID/cgroup; `root`: /sys/fs/cgroup. */
uint64_t left_in_cgroups(const char *cgroups, const char *root);

#ifdef __cplusplus
}
#endif

#endif
