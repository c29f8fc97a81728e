/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options of a plug-in, which a scenario sets: what <windtunnel/handler.h> and <windtunnel/copier.h> have
 * in common.
 */
#ifndef WINDTUNNEL_OPTION_H
#define WINDTUNNEL_OPTION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How an option's text is read. The engine passes plain numbers (bytes, count) or text. */
enum wt_option_type {
    WT_BYTES = 1,
    WT_COUNT = 2,
    WT_CHOICE = 3,
    WT_TEXT = 4,
    WT_FILE = 5, /* a path relative to the scenario file; passed as an absolute path, "" for none */
};

struct wt_option {
    const char *name;     /* NULL ends the list */
    const char *fallback; /* the default value */
    const char *choices;  /* WT_CHOICE: the allowed words, separated by '|'; else NULL */
    const char *help;     /* one line */
    uint32_t type;        /* enum wt_option_type */
    uint32_t reserved;    /* 0 */
};

struct wt_value {
    const char *name;
    const char *value;
};

#ifdef __cplusplus
}
#endif
#endif
