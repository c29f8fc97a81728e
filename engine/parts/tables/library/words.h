/* Words for the user, where a table says no. */
#ifndef WT_TABLES_WORDS_H
#define WT_TABLES_WORDS_H

#include <stdarg.h>
#include <stdio.h>

struct wt_words {
    char *text;
    size_t size; /* bytes, terminator included */
};

/* Returns -1, for `return wt_say(...)`. */
__attribute__((format(printf, 2, 3))) static inline int wt_say(const struct wt_words *words,
                                                               const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words->text, words->size, format, arguments);
    va_end(arguments);
    return -1;
}

#endif
