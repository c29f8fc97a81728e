#include "host/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int wt_open_regular(const char *path) {
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat about;
    if (descriptor < 0 || (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode))) return descriptor;
    close(descriptor);
    errno = S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
    return -1;
}
