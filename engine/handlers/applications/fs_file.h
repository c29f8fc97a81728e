/* What fs_write and fs_read keep bytes in: memory, or with the option `directory` real files
 * of at most `file` bytes.
 *
 * A real file gets a fresh name, made exclusively, and loses it at once: nothing of the user's is ever
 * opened, and the kernel takes the file back at the end of the process, however it ends. */
#ifndef WT_HANDLERS_FS_FILE_H
#define WT_HANDLERS_FS_FILE_H

#include <windtunnel/handler.h>

struct fs_file {
    uint8_t *memory; /* NULL: a real file */
    int descriptor;  /* -1: memory */
    uint64_t size;   /* bytes of the memory; the most that a real file holds */
};

/* Each returns 0, or -1 with words in open->error. `needed`: bytes that the file must be able to hold. */
int fs_file_open(const struct wt_open *open, uint64_t needed, struct fs_file *file);
void fs_file_close(struct fs_file *file);

/* Fills the whole file with random bytes of this seed: a file has the same in every run, so that a client can
 * check what it gets of any server's. */
enum { FS_FILE_SEED = 1 };
int fs_file_load(const struct wt_open *open, struct fs_file *file);

/* `bytes` bytes between a body, from its byte `from` on, and the file at `position`, which lies inside it
 * with them. Return 0, or an errno value: then part of the bytes may have been moved. */
int fs_file_read(const struct fs_file *file, uint64_t position, const struct wt_message *to, uint32_t from,
                 uint32_t bytes);
int fs_file_write(const struct fs_file *file, uint64_t position, const struct wt_message *source);

#endif
