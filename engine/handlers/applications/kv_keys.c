#include "handlers/applications/kv_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/applications/opening.h"
#include "host/regular_file.h"

enum { MOST_LISTED = 1 << 26 }; /* lines of a file: a slot and a key each, 1.5 GiB together */

/* What has been read of a file so far. */
struct listed {
    uint64_t *keys;
    double *weights;
    uint32_t count, room;
};

static int grow(const struct wt_open *open, struct listed *all) {
    if (all->count < all->room) return 0;
    if (all->room >= MOST_LISTED) return wt_refuse(open, "file: it has more than 2^26 keys");
    const uint32_t room = all->room ? 2 * all->room : 1024;
    uint64_t *keys = realloc(all->keys, room * sizeof *keys);
    if (keys) all->keys = keys;
    double *weights = realloc(all->weights, room * sizeof *weights);
    if (weights) all->weights = weights;
    if (!keys || !weights) return wt_refuse(open, "file: there is no memory for %u keys", room);
    all->room = room;
    return 0;
}

/* A comma parts as a blank does. */
static char *after_blanks(char *text) { return text + strspn(text, " ,\t"); }

/* "17 0.25": a key and, if it is not 1, its weight. False where the line is anything else. */
static bool parse_line(char *text, uint64_t *key, double *weight) {
    char *end;
    if (*text < '0' || *text > '9') return false; /* strtoull would take a sign */
    errno = 0;
    *key = strtoull(text, &end, 10);
    char *second = after_blanks(end);
    *weight = 1;
    if (errno != 0 || *second == '\0') return errno == 0;
    if (second == end || !strchr("+.0123456789", *second)) return false;
    *weight = strtod(second, &end);
    return end != second && *after_blanks(end) == '\0' && *weight <= 1e300;
}

/* Comments begin with #; empty lines are passed over. A refusal does not say what a line has: a scenario may
   name any file, and who reads the refusal, in a log of CI, may have no right to read that. */
static int read_lines(const struct wt_open *open, const char *path, FILE *file, struct listed *all) {
    char text[256];
    for (unsigned long number = 1; fgets(text, sizeof text, file); ++number) {
        if (!strchr(text, '\n') && !feof(file))
            return wt_refuse(open, "%s:%lu: the line is longer than %zu bytes, or has a zero byte", path,
                             number, sizeof text - 2);
        text[strcspn(text, "#\r\n")] = '\0';
        char *begin = after_blanks(text);
        if (*begin == '\0') continue;
        if (grow(open, all) != 0) return -1;
        if (!parse_line(begin, &all->keys[all->count], &all->weights[all->count]))
            return wt_refuse(open, "%s:%lu: this is not a key and its weight, as in \"17 0.25\"", path,
                             number);
        ++all->count;
    }
    return ferror(file) ? wt_refuse(open, "%s: %s", path, strerror(errno)) : 0;
}

static int lay_out(const struct wt_open *open, const char *path, struct listed *all, struct kv_keys *keys) {
    keys->listed = all->keys;
    all->keys = NULL;
    if (all->count == 0) return wt_refuse(open, "%s: there is no key in it", path);
    keys->slots = wt_take_memory(open, "file", all->count * sizeof *keys->slots);
    if (!keys->slots) return -1;
    if (wt_alias_init(&keys->file, keys->slots, all->weights, all->count)) return 0;
    return wt_refuse(open, "%s: the weights of its %u keys have a sum of 0 or an infinite sum", path,
                     all->count);
}

static int read_file(const struct wt_open *open, const char *path, struct kv_keys *keys) {
    const int descriptor = wt_open_regular(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "r");
    if (!file) return wt_refuse(open, "%s: %s", path, strerror(errno));
    struct listed all = {0};
    const int failed = read_lines(open, path, file, &all) != 0 || lay_out(open, path, &all, keys) != 0;
    fclose(file);
    free(all.keys);
    free(all.weights);
    return failed ? -1 : 0;
}

static uint32_t distribution_of(const char *name) {
    static const char *const names[] = {"uniform", "zipf", "fixed", "file"};
    uint32_t i = 0;
    while (i < KV_FILE && strcmp(names[i], name) != 0) ++i;
    return i;
}

int kv_keys_open(const struct wt_open *open, uint64_t count, struct kv_keys *keys) {
    const char *file = wt_text(open, "file");
    double exponent;
    keys->count = count;
    keys->distribution = distribution_of(wt_text(open, "distribution"));
    keys->scattered = strcmp(wt_text(open, "hot"), "scattered") == 0;
    keys->fixed = wt_number(open, "key");
    wt_scatter_init(&keys->scatter, count);
    if (wt_real(open, "exponent", &exponent) != 0) return -1;
    if (!wt_zipf_init(&keys->zipf, count, exponent))
        return wt_refuse(open, "exponent = %s is not above 0 and at most 64", wt_text(open, "exponent"));
    if (keys->distribution != KV_FILE)
        return *file ? wt_refuse(open, "file = %s needs distribution = \"file\"", file) : 0;
    if (!*file) return wt_refuse(open, "distribution = \"file\" needs a file, as in file = \"keys.txt\"");
    return open->role == WT_CLIENT ? read_file(open, file, keys) : 0;
}

void kv_keys_close(struct kv_keys *keys) {
    free(keys->slots);
    free(keys->listed);
}
