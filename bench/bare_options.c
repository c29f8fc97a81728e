#include "bare_options.h"

#include <errno.h>
#include <rte_debug.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BURST = 1024 };

struct number {
    const char *name;
    uint32_t *to;
};

static bool read_number(const char *text, uint32_t *to) {
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value > UINT32_MAX) return false;
    *to = (uint32_t)value;
    return true;
}

static const char *value_of(int argc, char **argv, const char *name) {
    for (int i = 1; i + 1 < argc; i += 2)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0) return argv[i + 1];
    rte_exit(2, "bare_echo: --%s is missing\n", name);
}

struct bare_options bare_options_read(int argc, char **argv) {
    struct bare_options o;
    const struct number numbers[] = {
        {"payload", &o.payload},
        {"body", &o.body},
        {"burst", &o.burst},
        {"inflight", &o.inflight},
        {"ring", &o.ring},
        {"mbufs", &o.mbufs},
        {"cache", &o.cache},
        {"descriptors", &o.descriptors},
        {"data-room", &o.data_room},
        {"warmup-ms", &o.warmup_ms},
        {"measure-ms", &o.measure_ms},
    };
    for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const char *text = value_of(argc, argv, numbers[i].name);
        if (!read_number(text, numbers[i].to))
            rte_exit(2, "bare_echo: --%s %s is not a whole number\n", numbers[i].name, text);
    }
    o.ops = value_of(argc, argv, "ops");
    if (o.body < 8 || o.body > o.payload) rte_exit(2, "bare_echo: --body is 8 to --payload bytes\n");
    if (o.burst == 0 || o.burst > MOST_BURST) rte_exit(2, "bare_echo: --burst is 1 to %d\n", MOST_BURST);
    /* nothing waits for room here: a queue that could fill up would end the run */
    if (o.burst >= o.ring) rte_exit(2, "bare_echo: --burst is below --ring\n");
    if (o.inflight > o.descriptors) rte_exit(2, "bare_echo: --inflight is at most --descriptors\n");
    return o;
}
