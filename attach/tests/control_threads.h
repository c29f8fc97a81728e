/* Threads as DPDK has them for itself, asleep in the same system calls. */
#ifndef WT_ATTACH_CONTROL_THREADS_H
#define WT_ATTACH_CONTROL_THREADS_H

/* Begins those whose bits are set: 1 telemetry in accept(), 2 messages in recvmsg(), 4 interrupts in
 * epoll_wait(). */
void start_control_threads(unsigned which);

/* Wakes each, and waits until it has seen that. Returns how often one found itself changed: its call failed,
 * or its signal mask or rounding mode was another one afterwards. */
unsigned wake_control_threads(void);

#endif
