#include "slicers/post.h"

#include <sys/mman.h>

#include "slicers/mapped.h"

namespace wt {

posting_ring *map_posting_ring(const std::string &path) {
    return static_cast<posting_ring *>(map_shared(path, sizeof(posting_ring), O_CREAT));
}

}  // namespace wt
