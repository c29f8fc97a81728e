/* The functions that take the place of the C library's. They have no version, so they do so for each version
 * that a program was linked with.
 *
 * Those that end in _chk know the room at the destination, and end the program if that is too small: the C
 * library's own words then. */
#include <stdint.h>

#include "counts.h"

#define WT_EXPORTED __attribute__((visibility("default")))

extern void __chk_fail(void) __attribute__((noreturn));

WT_EXPORTED void *memcpy(void *to, const void *from, size_t bytes);
WT_EXPORTED void *memmove(void *to, const void *from, size_t bytes);
WT_EXPORTED void *mempcpy(void *to, const void *from, size_t bytes);
WT_EXPORTED void *__memcpy_chk(void *to, const void *from, size_t bytes, size_t room);
WT_EXPORTED void *__memmove_chk(void *to, const void *from, size_t bytes, size_t room);
WT_EXPORTED void *__mempcpy_chk(void *to, const void *from, size_t bytes, size_t room);

void *memcpy(void *to, const void *from, size_t bytes) { return wt_copy(WT_COPIES_MEMCPY, to, from, bytes); }

void *memmove(void *to, const void *from, size_t bytes) {
    return wt_copy(WT_COPIES_MEMMOVE, to, from, bytes);
}

void *mempcpy(void *to, const void *from, size_t bytes) {
    return (uint8_t *)wt_copy(WT_COPIES_MEMPCPY, to, from, bytes) + bytes;
}

void *__memcpy_chk(void *to, const void *from, size_t bytes, size_t room) {
    if (room < bytes) __chk_fail();
    return wt_copy(WT_COPIES_MEMCPY, to, from, bytes);
}

void *__memmove_chk(void *to, const void *from, size_t bytes, size_t room) {
    if (room < bytes) __chk_fail();
    return wt_copy(WT_COPIES_MEMMOVE, to, from, bytes);
}

void *__mempcpy_chk(void *to, const void *from, size_t bytes, size_t room) {
    if (room < bytes) __chk_fail();
    return (uint8_t *)wt_copy(WT_COPIES_MEMPCPY, to, from, bytes) + bytes;
}
