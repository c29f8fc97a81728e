/* The functions of ports are exchanged for the probe's, and back. */
#ifndef WT_ATTACH_WRAP_H
#define WT_ATTACH_WRAP_H

#include "page.h"

/* Wraps each port whose driver's functions stand there: those of a port that was started again, too. Returns
 * NULL, or the sentence that says what it met in place of a function. */
const char *wt_wrap_ports(struct wt_attach_page *page);

/* Puts back what stood there before, wherever the probe's functions still stand. */
void wt_unwrap_ports(struct wt_attach_page *page);

#endif
