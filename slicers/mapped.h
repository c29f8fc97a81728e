// A file in memory that several processes share.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <string>

namespace wt {

// Opens it with O_RDWR and `flags`, lets it be of this size, and maps it. Throws refusal.
void *map_shared(const std::string &path, size_t size, int flags);

}  // namespace wt
