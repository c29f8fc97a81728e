#include "handlers/applications/fs_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/random_bytes.h"
#include "handlers/applications/body.h"
#include "handlers/applications/opening.h"

static int open_nameless(const struct wt_open *open, const char *directory, struct fs_file *file) {
    char name[4096];
    if (snprintf(name, sizeof name, "%s/windtunnel-XXXXXX", directory) >= (int)sizeof name)
        return wt_refuse(open, "directory: the name is too long");
    file->descriptor = mkstemp(name);
    if (file->descriptor < 0)
        return wt_refuse(open, "cannot create a file in directory %s: %s", directory, strerror(errno));
    unlink(name);
    return 0;
}

int fs_file_open(const struct wt_open *open, uint64_t needed, struct fs_file *file) {
    const char *directory = wt_text(open, "directory");
    *file = (struct fs_file){.descriptor = -1, .size = wt_number(open, "file")};
    if (file->size == 0 || file->size < needed)
        return wt_refuse(open, "file = %llu bytes does not hold the %llu of a message",
                         (unsigned long long)file->size, (unsigned long long)needed);
    if (file->size > INT64_MAX)
        return wt_refuse(open, "file = %llu bytes is larger than a file can be",
                         (unsigned long long)file->size);
    if (*directory) return open_nameless(open, directory, file);
    file->memory = wt_take_memory(open, "file", file->size);
    return file->memory ? 0 : -1;
}

void fs_file_close(struct fs_file *file) {
    free(file->memory);
    if (file->descriptor >= 0) close(file->descriptor);
}

typedef ssize_t (*vector_io)(int, const struct iovec *, int, off_t);

/* A call of the kernel for each 64 pieces, and another where it moved less than it was asked to. */
static int transfer(int descriptor, uint64_t position, const struct wt_message *body, uint32_t from,
                    uint32_t bytes, vector_io io) {
    while (bytes != 0) {
        struct iovec pieces[64];
        int count = 0;
        struct body_walk walk = body_from(body, from, bytes);
        struct wt_segment piece;
        while (count < 64 && body_next(&walk, &piece))
            pieces[count++] = (struct iovec){piece.data, piece.length};
        const ssize_t moved = count == 0 ? 0 : io(descriptor, pieces, count, (off_t)position);
        if (moved < 0) return errno;
        if (moved == 0) return EIO;
        position += (uint64_t)moved;
        from += (uint32_t)moved;
        bytes -= (uint32_t)moved;
    }
    return 0;
}

int fs_file_read(const struct fs_file *file, uint64_t position, const struct wt_message *to, uint32_t from,
                 uint32_t bytes) {
    if (!file->memory) return transfer(file->descriptor, position, to, from, bytes, preadv);
    return body_write(to, from, file->memory + position, bytes) == bytes ? 0 : EIO;
}

int fs_file_write(const struct fs_file *file, uint64_t position, const struct wt_message *source) {
    if (!file->memory) return transfer(file->descriptor, position, source, 0, source->length, pwritev);
    return body_read(source, 0, file->memory + position, source->length) == source->length ? 0 : EIO;
}

int fs_file_load(const struct wt_open *open, struct fs_file *file) {
    uint64_t words[8192], word = 0;
    if (file->memory ? wt_left_untouched() : !wt_may_touch(file->size)) return 0;
    for (uint64_t at = 0; at < file->size;) {
        for (uint32_t i = 0; i < 8192; ++i) words[i] = random_word(FS_FILE_SEED, word++);
        const uint64_t rest = file->size - at;
        const struct wt_segment block = {(uint8_t *)words,
                                         rest < sizeof words ? (uint32_t)rest : sizeof words};
        const int error = fs_file_write(file, at, &(struct wt_message){&block, 1, block.length});
        if (error != 0)
            return wt_refuse(open, "the file of %llu bytes could not be written: %s",
                             (unsigned long long)file->size, strerror(error));
        at += block.length;
    }
    return 0;
}
