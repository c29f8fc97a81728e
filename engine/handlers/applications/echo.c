/* `echo`: sends UDP datagrams back where they came from: MAC and IP addresses and ports change places.
 *
 * A swap changes no checksum, so none is looked at: a wrong one goes back as wrong as it came. Everything
 * else is passed on: ARP, neighbour discovery and ICMP still get their responses from the responder,
 * fragments, IPv6 with extension headers, multicast and frames shorter than they say are dropped by name in
 * the parser. */
#include "handlers/applications/opening.h"
#include "handlers/applications/swap.h"

enum {
    ETHERNET_HEADER = 14,
    UDP_HEADER = 8,
    TYPE = 12, /* offsets in a frame */
    IP_LENGTH = 16,
    SOURCE_IP = 26,
    SHORTEST = 42, /* Ethernet, IPv4 without options, UDP */
    IPV6_HEADER = 40,
    IPV6_LENGTH = 18, /* of what is behind its header */
    IPV6_NEXT = 20,
    IPV6_SOURCE = 22,
    IPV6_UDP = ETHERNET_HEADER + IPV6_HEADER,
};

/* From the Ethernet type on, 16 bytes: IPv4, UDP, unfragmented. The third byte's low half says how long the
 * header is. */
static const sixteen_bytes datagram = {0x08, 0x00, 0x40, 0, 0, 0, 0, 0, 0x00, 0x00, 0, 17};
static const sixteen_bytes datagram_mask = {0xff, 0xff, 0xf0, 0, 0, 0, 0, 0, 0x3f, 0xff, 0, 0xff};

static inline uint16_t load16(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }

/* An unfragmented, complete IPv4/UDP datagram to one receiver; `length` is at least SHORTEST. */
static inline int is_datagram(const uint8_t *frame, uint32_t length) {
    typedef uint64_t words __attribute__((vector_size(16)));
    sixteen_bytes header;
    memcpy(&header, frame + TYPE, sizeof header);
    const words other = (words)((header ^ datagram) & datagram_mask);
    return (other[0] | other[1] | (frame[0] & 1)) == 0 &&
           ETHERNET_HEADER + (uint32_t)load16(frame + IP_LENGTH) <= length;
}

/* Ports behind IP options. */
static int swap_behind_options(uint8_t *frame, uint32_t length) {
    const uint32_t header = (frame[ETHERNET_HEADER] & 0xfu) * 4;
    if (header < 20 || ETHERNET_HEADER + header + UDP_HEADER > length) return 0;
    uint8_t *udp = frame + ETHERNET_HEADER + header;
    swap_bytes(frame + SOURCE_IP, frame + SOURCE_IP + 4, 4);
    swap_bytes(udp, udp + 2, 2);
    return 1;
}

/* A complete datagram of IPv6 to one receiver, without extension headers. */
static int is_ipv6_datagram(const uint8_t *frame, uint32_t length) {
    return length >= IPV6_UDP + UDP_HEADER && load16(frame + TYPE) == 0x86dd && (frame[0] & 1) == 0 &&
           frame[ETHERNET_HEADER] >> 4 == 6 && frame[IPV6_NEXT] == 17 &&
           load16(frame + IPV6_LENGTH) >= UDP_HEADER &&
           IPV6_UDP + (uint32_t)load16(frame + IPV6_LENGTH) <= length;
}

/* Out of the way of IPv4, which does not pay for it. */
WT_SWAPS __attribute__((noinline)) static void echo_ipv6(struct wt_packet *p) {
    uint8_t *frame = p->data;
    if (!is_ipv6_datagram(frame, p->length)) return;
    sixteen_bytes source, destination;
    memcpy(&source, frame + IPV6_SOURCE, sizeof source);
    memcpy(&destination, frame + IPV6_SOURCE + sizeof source, sizeof destination);
    memcpy(frame + IPV6_SOURCE, &destination, sizeof destination);
    memcpy(frame + IPV6_SOURCE + sizeof source, &source, sizeof source);
    swap_bytes(frame + IPV6_UDP, frame + IPV6_UDP + 2, 2);
    swap_macs(frame);
    p->verdict = WT_FORWARD;
}

WT_SWAPS static void echo_packet(void *state, struct wt_packet *burst, uint32_t count) {
    (void)state;
    for (uint32_t i = 0; i < count; ++i) {
        struct wt_packet *p = &burst[i];
        uint8_t *frame = p->data;
        if (p->length < SHORTEST) continue;
        if (__builtin_expect(!is_datagram(frame, p->length), 0)) {
            echo_ipv6(p);
            continue;
        }
        if (__builtin_expect(frame[ETHERNET_HEADER] == 0x45, 1))
            swap_flow(frame + SOURCE_IP);
        else if (!swap_behind_options(frame, p->length))
            continue;
        swap_macs(frame);
        p->verdict = WT_FORWARD;
    }
}

const struct wt_handler wt_echo = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "echo",
    .help = "sends UDP datagrams back to their sender; forwards everything else",
    .kind = WT_PACKET_HANDLER,
    .open = wt_open_nothing,
    .packet = echo_packet,
};
