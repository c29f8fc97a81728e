/* The copy itself, by the C library or, before that was found, without it. */
#ifndef WT_COPIES_MOVE_H
#define WT_COPIES_MOVE_H

#include <stddef.h>
#include <stdint.h>

typedef void *wt_move_function(void *to, const void *from, size_t bytes);

/* Needs no symbol of another library, and no relocation: the loader itself may be where this is called from.
 */
static inline void *wt_move_plainly(void *to, const void *from, size_t bytes) {
    const uint8_t *source = from;
    uint8_t *destination = to;
    if ((uintptr_t)to - (uintptr_t)from >= bytes) {
        __asm__ volatile("rep movsb" : "+D"(destination), "+S"(source), "+c"(bytes)::"memory");
    } else {
        source += bytes - 1;
        destination += bytes - 1;
        __asm__ volatile("std\n\trep movsb\n\tcld" : "+D"(destination), "+S"(source), "+c"(bytes)::"memory");
    }
    return to;
}

#endif
