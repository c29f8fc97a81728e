/* How long packets stay in the application: one packet at a time is remembered by its mbuf's address when it
 * is received, and met again when it is sent. Nothing is written into it, and none of its bytes is kept. */
#ifndef WT_ATTACH_LATENCY_H
#define WT_ATTACH_LATENCY_H

#include <stdint.h>

#include "page.h"

/* Watches `packet`, received on `channel` at `now`, unless another one is watched. */
void wt_watch_packet(struct wt_attach_channel *channel, const void *packet, uint64_t now);

/* Before packets are handed to a driver: the number of the one that is watched, taken; `count`: it is not
 * among them. */
unsigned wt_find_packet(void *const *packets, unsigned count);

/* After a call that took `sent` packets, for what wt_find_packet has taken: the one at `index` was sent, or
 * is waited for further. */
void wt_settle_packet(unsigned index, unsigned sent, uint64_t handed_over);

/* Gives up a packet that has been watched since before `oldest`: lost is what was not met. */
void wt_expire_packet(uint64_t oldest);

/* Watches none: calls that it would be met in were not seen. */
void wt_drop_packet(void);

#endif
