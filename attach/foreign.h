/* Files of names that another process chooses. A device may act when it is opened, a FIFO or a file system of
 * that process's own may block: so what stands there is asked first, without opening it. */
#ifndef WT_ATTACH_FOREIGN_H
#define WT_ATTACH_FOREIGN_H

/* Opens a memfd for reading; -1: there is another file, or none. */
int wt_open_memfd(const char *path);

/* Opens a regular file for reading; -1: there is another one, or none. */
int wt_open_regular(const char *path);

#endif
