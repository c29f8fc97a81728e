/* Tables are short: they are searched from the beginning. */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

bool set_key(struct key *keys, const char *argument) {
    const size_t length = strcspn(argument, "=");
    for (struct key *key = keys; key->name && argument[length]; key++) {
        if (strlen(key->name) != length || strncmp(key->name, argument, length) != 0) continue;
        key->value = strtoull(argument + length + 1, NULL, 0);
        return true;
    }
    return false;
}

uint64_t value_in(const struct key *keys, const char *name) {
    while (keys->name && strcmp(keys->name, name) != 0) keys++;
    if (!keys->name) abort();
    return keys->value;
}
