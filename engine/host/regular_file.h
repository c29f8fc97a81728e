// Files that another user may have named, or may own: opened without waiting (Python:
// text_file.open_regular).
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// A descriptor to read from, -1 with errno for what is no regular file. Nobody is waited for: neither who
// would write to a FIFO, nor a file's owner who holds a lease on it (fcntl F_SETLEASE; errno EWOULDBLOCK).
int wt_open_regular(const char *path);

#ifdef __cplusplus
}

#include <ext/stdio_filebuf.h>
#include <string>

namespace wt {

// A buffer of such a file, for a std::istream; is_open() tells whether it is one.
inline __gnu_cxx::stdio_filebuf<char> regular_file(const std::string &path) {
    const int descriptor = wt_open_regular(path.c_str());
    if (descriptor < 0) return {};
    return {descriptor, std::ios::in | std::ios::binary};
}

}  // namespace wt
#endif
