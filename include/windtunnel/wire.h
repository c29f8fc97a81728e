/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a wire is, as data: its name, its options, what it needs of the host, what can be done on it.
 *
 * A wire connects two endpoints, or stands where the peer would be. This half of its descriptor is all that
 * is shown outside the engine: `windtunnel-engine --wires` prints it, and checks, placement, the demand for
 * mbufs, docs and the JSON schema follow from it. The other half, the hooks, stands in engine/wires/wire.h:
 * they open ethdevs on the engine's mempools and read its plan, so they are built with the engine and are no
 * ABI. Usable from C11 and C++20.
 */
#ifndef WINDTUNNEL_WIRE_H
#define WINDTUNNEL_WIRE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever the meaning or the layout of anything below changes.
 * 1  the first */
#define WT_WIRE_ABI 1u

/* Capabilities and properties of a wire. The words in quotes are those of `--wires` and of a run's
 * record. */
enum wt_wire_flags {
    WT_WIRE_SERVER = 1u << 0, /* "server": a server may be on it */
    WT_WIRE_CLIENT = 1u << 1, /* "client": a client may be on it */
    WT_WIRE_BOTH_ENDS =
        1u << 2, /* "both_ends": both ends are always ours, whether the scenario names them or not */
    WT_WIRE_TOGETHER = 1u << 3,     /* "together": both ends are opened by one call, in one process */
    WT_WIRE_PROCESS_EACH = 1u << 4, /* "process_each": each end has its own process, on one host */
    WT_WIRE_FOREIGN_PEER = 1u << 5, /* "foreign_peer": the peer may be another host or another program */
    WT_WIRE_SILENT = 1u << 6,       /* "silent": no request gets a response */
    WT_WIRE_UNFILLED =
        1u << 7,             /* "unfilled": received frames have undefined bytes: a handler may fill them */
    WT_WIRE_TWICE = 1u << 8, /* "twice": two runs may have it at once */
    WT_WIRE_MOVES_MBUFS = 1u << 9, /* "moves_mbufs": mbufs change hands, nothing is copied */
    WT_WIRE_EMULATES = 1u << 10,   /* "emulates": faults and a link may be emulated in front of it */
    WT_WIRE_NIC = 1u << 11,        /* "nic": a real NIC, with counters and thresholds of its own */
    WT_WIRE_LEAVES_MAC = 1u << 12, /* "leaves_mac": its MAC is left as it is; frames to any MAC come in */
    WT_WIRE_DENSE_POOL = 1u << 13, /* "dense_pool": its driver needs contiguous mbufs */
    WT_WIRE_UNFRAMED =
        1u << 14, /* "unframed": a packet travels from its message header on, without Ethernet, IP and UDP */
    WT_WIRE_OWN_MAC = 1u << 15, /* "own_mac": its port has a MAC that an endpoint may use: mac = "nic" */
    WT_WIRE_PAIRED_QUEUES =
        1u
        << 16, /* "paired_queues": queue q of one end is connected to queue q of the other, and to no other */
};

enum wt_wire_type {
    WT_WIRE_BYTES = 1,  /* a size; least and most in bytes */
    WT_WIRE_COUNT = 2,  /* a number from least to most */
    WT_WIRE_BOOL = 3,   /* "true" or "false" */
    WT_WIRE_CHOICE = 4, /* one of `choices` */
    WT_WIRE_WORDS = 5,  /* some of `choices`, separated by '|'; "" for none */
    WT_WIRE_TEXT = 6,   /* at most `most` bytes */
    WT_WIRE_FILE = 7,   /* a path, relative to the scenario's file; handed over as an absolute one */
    WT_WIRE_SOCKET =
        8, /* likewise, of a Unix socket that the server makes; where none is named, one of the run's own */
    WT_WIRE_INTERFACE = 9, /* a network interface of the kernel */
    WT_WIRE_PCI = 10,      /* a PCI address as the kernel writes it, 0000:02:00.0; EAL probes that device.
                              Of several ports at one address all but the first have a number: 0000:02:00.0/1 */
};

enum wt_wire_scope {
    WT_WIRE_OF_WIRE = 1,     /* stands in [wire] */
    WT_WIRE_OF_ENDPOINT = 2, /* stands in [client] and [server], each with its own */
};

enum wt_wire_option_flags {
    WT_WIRE_REQUIRED = 1u << 0, /* the scenario must name it, or the plan's maker must find one */
    WT_WIRE_FRAME = 1u << 1,    /* WT_WIRE_BYTES: how long the wire's own frames are */
    WT_WIRE_ROLE = 1u << 2, /* WT_WIRE_CHOICE of an endpoint, "side", "server" or "client": which end it is
                               to the driver ("side": as the endpoint). Two ends are not the same one */
};

struct wt_wire_option {
    const char *name;     /* NULL ends the list */
    const char *fallback; /* the value when the scenario names none; NULL: none */
    const char *choices;  /* WT_WIRE_CHOICE, WT_WIRE_WORDS: words separated by '|'; else NULL */
    const char *help;     /* one line */
    const char *example;  /* a value, for a message; may be NULL where there is a fallback */
    const char *timed;    /* WT_WIRE_CHOICE: at this choice frames come at times of their own, from nic_rx's
                             memory; NULL: none */
    const char *lossy;   /* WT_WIRE_CHOICE: at this choice packets may be lost on the way. A wire with such an
                            option emulates faults and a link only there; NULL: none */
    const char *packets; /* WT_WIRE_CHOICE: at any other choice requests are no packets to the peer; NULL:
                            they always are */
    uint64_t least,
        most; /* WT_WIRE_BYTES, WT_WIRE_COUNT: the range; WT_WIRE_TEXT, WT_WIRE_INTERFACE: `most` letters */
    uint32_t type;     /* enum wt_wire_type */
    uint32_t scope;    /* enum wt_wire_scope */
    uint32_t flags;    /* enum wt_wire_option_flags */
    uint32_t reserved; /* 0 */
};

/* What must be so on the host. Checked before a run, and again by the hooks, which see more. */
enum wt_wire_need_kind {
    WT_NEEDS_ROOT = 1,         /* "root"; `why`: what it does that an ordinary user may not */
    WT_NEEDS_HUGEPAGES = 2,    /* "hugepages"; `why` */
    WT_NEEDS_INTERFACE = 3,    /* "interface": the interface that `option` names exists */
    WT_NEEDS_NO_INTERFACE = 4, /* "no_interface": it does not exist: the wire makes it */
    WT_NEEDS_NO_XDP =
        5, /* "no_xdp": no XDP program hangs on it. One that hangs after a killed engine is the engine's */
    WT_NEEDS_CAPTURE = 6,       /* "capture": `option` names a capture whose frames fit the mbufs */
    WT_NEEDS_NIC = 7,           /* "nic": `option` names a NIC whose driver lets DPDK in */
    WT_NEEDS_SHARED_SOCKET = 8, /* "shared_socket": two processes find each other by `option` */
};

struct wt_wire_need {
    uint32_t kind;      /* enum wt_wire_need_kind; 0 ends the list */
    uint32_t reserved;  /* 0 */
    const char *option; /* the option that it is about; NULL where none is */
    const char *why;    /* words that go on after "the wire NAME ..."; NULL where `kind` says it all */
};

/* mbufs of an endpoint's pool that the driver may hold for one queue:
 * fixed + rx * its receive descriptors + tx * its transmit descriptors + peer_rx * the other end's receive
 * descriptors, and frames * the frames of the capture, unless they are played at times of their own. */
struct wt_wire_mbufs {
    uint32_t fixed, rx, tx, peer_rx, frames;
};

struct wt_wire {
    uint32_t abi;         /* required: WT_WIRE_ABI */
    uint32_t size;        /* required: sizeof(struct wt_wire) */
    const char *name;     /* required: lower-case letters, digits, '_': what a scenario writes as wire.kind */
    const char *help;     /* required: one line */
    const char *driver;   /* required: of DPDK, or what stands in its place */
    const char *peer;     /* required: who is at the other end */
    const char *copies;   /* required: what is copied on the way */
    uint32_t flags;       /* enum wt_wire_flags; WT_WIRE_SERVER, WT_WIRE_CLIENT or both are required */
    uint32_t most_queues; /* required: 1 to 64 */
    uint32_t most_mtu;    /* 0: as many as the plan allows */
    const char *mtu_why;  /* required with most_mtu: why not more */
    const struct wt_wire_option *options; /* NULL: none */
    const struct wt_wire_need *needs;     /* NULL: none */
    struct wt_wire_mbufs mbufs;
};

#ifdef __cplusplus
}
#endif
#endif
