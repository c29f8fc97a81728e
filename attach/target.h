/* The process that the probe is loaded into, read from outside: its mappings, and the symbols of what it has
 * loaded. Nothing is taken from files, which may be newer than what it runs, or another one's of the same
 * name. */
#ifndef WT_ATTACH_TARGET_H
#define WT_ATTACH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct wt_target {
    pid_t pid;
    int memory; /* /proc/PID/mem */
};

/* A file that is mapped: the first address, and the part that may be executed. */
struct wt_mapped {
    uint64_t base, code, code_end;
};

/* Refuses what is no process of this architecture, or may not be read. */
struct wt_target wt_open_target(pid_t pid);

/* Takes the memory that the process has now, while a thread of it is stopped and so none can begin another
 * program: one that began since may have other rights, and what was found before is not of it. Refuses if the
 * thread is none of the process's any more. */
void wt_reopen_memory(struct wt_target *target, pid_t tid);

/* The first mapped file whose name begins with `name` behind the last slash. */
bool wt_find_mapped(const struct wt_target *target, const char *name, struct wt_mapped *mapped);

/* Bytes of the mapping below the address: how much of a stack is left. */
uint64_t wt_bytes_below(const struct wt_target *target, uint64_t address);

/* The address of a function that the file mapped at `base` exports; 0: it has none of that name. */
uint64_t wt_find_function(const struct wt_target *target, uint64_t base, const char *name);

/* The address of these bytes in its code; 0: nowhere. */
uint64_t wt_find_bytes(const struct wt_target *target, const struct wt_mapped *mapped, const void *bytes,
                       size_t count);

/* The number behind `key` in /proc/PID/task/TID/status, or -1; `text`, if not NULL: whether the line has it.
 */
long wt_status_of(pid_t pid, pid_t tid, const char *key, const char *text);

#endif
