/* The probe's one thread: it does what the observer asks for, while a lease holds. */
#ifndef WT_ATTACH_WATCHER_H
#define WT_ATTACH_WATCHER_H

/* Runs until the process ends, or until something in it makes the probe refuse. `page` is a struct
 * wt_attach_page. */
void *wt_watch(void *page);

#endif
