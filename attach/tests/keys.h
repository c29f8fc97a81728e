/* KEY=NUMBER on a command line. */
#ifndef WT_ATTACH_KEYS_H
#define WT_ATTACH_KEYS_H

#include <stdbool.h>
#include <stdint.h>

/* With its default; the last one of a table has no name. */
struct key {
    const char *name;
    uint64_t value;
};

/* Takes "NAME=NUMBER" into the table; false: it has no such key. */
bool set_key(struct key *keys, const char *argument);

/* The value of a key that is in the table. */
uint64_t value_in(const struct key *keys, const char *name);

#endif
