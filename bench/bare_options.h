/* Arguments of bare_echo: the same quantities as in the scenario that it is compared with. */
#ifndef BARE_OPTIONS_H
#define BARE_OPTIONS_H

#include <stdint.h>

struct bare_options {
    uint32_t payload; /* UDP payload, bytes; the last `body` of them are copied and scanned */
    uint32_t body;
    uint32_t burst, inflight, ring, descriptors;
    uint32_t mbufs, cache, data_room;
    const char *ops;
    uint32_t warmup_ms, measure_ms;
};

/* Reads `--name value` pairs, every one of them required. Ends the process in words where one is missing or
 * wrong. */
struct bare_options bare_options_read(int argc, char **argv);

#endif
