#include "slicers/mapped.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/refusal.h"

namespace wt {

void *map_shared(const std::string &path, size_t size, int flags) {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    void *mapped = MAP_FAILED;
    struct stat found{};
    // a file of another size belongs to another program: truncating it could end that program with SIGBUS
    if (fd >= 0 && fstat(fd, &found) == 0 &&
        (found.st_size == 0 || found.st_size == static_cast<off_t>(size)) &&
        ftruncate(fd, static_cast<off_t>(size)) == 0)
        mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const std::string why = fd >= 0 && found.st_size && found.st_size != static_cast<off_t>(size)
                                ? "another size"
                                : std::strerror(errno);
    if (fd >= 0) close(fd);
    if (mapped == MAP_FAILED) throw refusal(path + ": cannot be shared: " + why);
    return mapped;
}

}  // namespace wt
