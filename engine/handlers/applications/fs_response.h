/* Head of the responses of fs_write and fs_read. */
#ifndef WT_HANDLERS_FS_RESPONSE_H
#define WT_HANDLERS_FS_RESPONSE_H

#include <stdint.h>

struct fs_response {
    uint64_t position; /* fs_write: bytes stored before these; fs_read: of the first byte that follows, in the
                          file */
    uint64_t scan;     /* of the request; 0 without */
};
_Static_assert(sizeof(struct fs_response) == 16, "as it stands in docs/reference/handlers.md");

#endif
