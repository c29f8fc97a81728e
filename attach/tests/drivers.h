/* What the application in slow motion has of DPDK: entries of rte_eth_fp_ops, by release, with drivers that
 * sleep and count. */
#ifndef WT_ATTACH_DRIVERS_H
#define WT_ATTACH_DRIVERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { PORTS = 4, LCORES = 4, QUEUES = 1024, MOST = 40, FRAME = 1518 };

struct mbuf { /* the fields of struct rte_mbuf that the probe knows */
    char *buffer;
    uint64_t iova;
    uint16_t data_off;
    char rearm_and_flags[18];
    uint32_t pkt_len;
    uint16_t data_len;
    char rest[86];
};
_Static_assert(sizeof(struct mbuf) == 128, "as in DPDK");

/* A queue, and what its driver has done. One lcore uses it. */
struct queue {
    uint64_t calls, packets, refused;
    char line[40]; /* two queues have no line in common */
};
extern struct queue rx_queues[PORTS][LCORES], tx_queues[PORTS][LCORES];
extern void *rx_data[PORTS][QUEUES];

/* A thread of the data path, and where its packets are. */
struct lcore {
    pthread_t thread;
    unsigned index;
    uint64_t next_burst;
    struct mbuf mbufs[MOST];
    char frames[MOST][FRAME];
};
extern __thread struct lcore *self;
extern __thread unsigned per_lcore__lcore_id; /* as DPDK has it */

/* The keys of the command line; false: there is none of that name. */
uint64_t value_of(const char *name);
bool take_key(const char *argument);

void rest(uint64_t us);

/* Starts all ports. */
void open_ports(void);
void start_port(unsigned port, bool other);
void stop_port(unsigned port);
void put_entry(unsigned port, bool tx, void *function, void **data);

/* As DPDK's inlined functions call a driver, for the lcore's own queue. */
uint16_t call(unsigned port, bool tx, void **packets, uint16_t count);

/* How many functions of ports are no driver's. */
unsigned foreign_pointers(void);

#endif
