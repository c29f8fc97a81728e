/* Ethernet/IPv4/UDP headers of one flow, as a careful C programmer writes them: constant parts summed up
 * beforehand, the Internet checksum (RFC 1071) over 64-bit words. The 42 bytes before a payload are its
 * headers. */
#ifndef BARE_FRAME_H
#define BARE_FRAME_H

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>
#include <stdint.h>
#include <string.h>

struct bare_headers {
    struct rte_ether_hdr ethernet;
    struct rte_ipv4_hdr ip;
    struct rte_udp_hdr udp;
} __attribute__((packed, aligned(2)));

enum { BARE_HEADERS = sizeof(struct bare_headers) };
_Static_assert(sizeof(struct bare_headers) == 42, "no options, no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the tail of a sum is shifted as a little-endian word");

static inline uint64_t load64(const void *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t sum_add(uint64_t sum, uint64_t more) {
    sum += more;
    return sum + (sum < more);
}

typedef uint64_t two_words __attribute__((vector_size(16)));

/* Adds `bytes` bytes, at least 8: the tail is one load that ends with the last byte. */
static inline uint64_t sum_bytes(uint64_t sum, const uint8_t *at, uint32_t bytes) {
    const two_words low = {0xffffffff, 0xffffffff};
    const uint8_t *const end = at + bytes;
    two_words a = {0}, b = {0}, c = {0}, d = {0}, v, w;
    for (; end - at >= 32; at += 32) { /* halves of words in lanes of 64 bits cannot overflow */
        memcpy(&v, at, sizeof v);
        memcpy(&w, at + 16, sizeof w);
        a += v & low;
        b += v >> 32;
        c += w & low;
        d += w >> 32;
    }
    if (end - at >= 16) {
        memcpy(&v, at, sizeof v);
        a += v & low;
        b += v >> 32;
        at += 16;
    }
    const two_words all = (a + b) + (c + d);
    sum = sum_add(sum, (all + __builtin_shufflevector(all, all, 1, 0))[0]);
    if (end - at >= 8) {
        sum = sum_add(sum, load64(at));
        at += 8;
    }
    const uint32_t rest = (uint32_t)(end - at);
    return rest == 0 ? sum : sum_add(sum, load64(end - 8) >> (64 - 8 * rest));
}

static inline uint16_t sum_fold(uint64_t sum) {
    sum += sum << 32 | sum >> 32;
    uint32_t half = (uint32_t)(sum >> 32);
    half += half << 16 | half >> 16;
    return (uint16_t)(half >> 16);
}

struct bare_flow {
    struct bare_headers headers; /* lengths and checksums 0 */
    uint64_t ip_sum, udp_sum;    /* of what does not depend on the payload */
};

static inline struct bare_flow bare_flow_of(void) {
    struct bare_flow f = {.headers = {.ethernet = {.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4)},
                                      .ip = {.version_ihl = RTE_IPV4_VHL_DEF,
                                             .fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
                                             .time_to_live = 64,
                                             .next_proto_id = IPPROTO_UDP,
                                             .src_addr = RTE_BE32(RTE_IPV4(10, 77, 0, 1)),
                                             .dst_addr = RTE_BE32(RTE_IPV4(10, 77, 0, 2))},
                                      .udp = {.src_port = RTE_BE16(9000), .dst_port = RTE_BE16(9000)}}};
    f.headers.ethernet.src_addr = (struct rte_ether_addr){{0x02, 0x77, 0x74, 0, 0, 1}};
    f.headers.ethernet.dst_addr = (struct rte_ether_addr){{0x02, 0x77, 0x74, 0, 0, 2}};
    f.ip_sum = sum_bytes(0, (uint8_t *)&f.headers.ip, sizeof f.headers.ip);
    f.udp_sum = sum_bytes(RTE_BE16(IPPROTO_UDP), (uint8_t *)&f.headers.ip.src_addr, 8);
    f.udp_sum = sum_add(f.udp_sum, (uint64_t)f.headers.udp.src_port + f.headers.udp.dst_port);
    return f;
}

/* Lengths and checksums for a payload that stands behind the headers. */
static inline void bare_finish(struct bare_headers *h, uint64_t ip_sum, uint64_t udp_sum, uint32_t payload) {
    h->ip.total_length = rte_cpu_to_be_16((uint16_t)(sizeof h->ip + sizeof h->udp + payload));
    h->ip.hdr_checksum = (uint16_t)~sum_fold(sum_add(ip_sum, h->ip.total_length));
    h->udp.dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof h->udp + payload));
    /* the length counts twice: in the pseudo-header and in the header */
    const uint64_t sum = sum_add(udp_sum, (uint64_t)h->udp.dgram_len + h->udp.dgram_len);
    const uint16_t field = (uint16_t)~sum_fold(sum_bytes(sum, (uint8_t *)(h + 1), payload));
    h->udp.dgram_cksum = field == 0 ? 0xffff : field;
}

static inline void bare_write(uint8_t *frame, const struct bare_flow *flow, uint32_t payload) {
    memcpy(frame, &flow->headers, sizeof flow->headers);
    bare_finish((struct bare_headers *)frame, flow->ip_sum, flow->udp_sum, payload);
}

/* Addresses and ports change places; both checksums are made anew, for the payload has changed. The sums of
 * the flow hold in both directions. */
static inline void bare_turn(uint8_t *frame, const struct bare_flow *flow, uint32_t payload) {
    struct bare_headers *h = (struct bare_headers *)frame;
    typedef uint8_t bytes16 __attribute__((vector_size(16)));
    bytes16 start;
    memcpy(&start, frame, sizeof start);
    start = __builtin_shufflevector(start, start, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15);
    memcpy(frame, &start, sizeof start);
    const rte_be32_t address = h->ip.src_addr;
    h->ip.src_addr = h->ip.dst_addr;
    h->ip.dst_addr = address;
    const rte_be16_t port = h->udp.src_port;
    h->udp.src_port = h->udp.dst_port;
    h->udp.dst_port = port;
    bare_finish(h, flow->ip_sum, flow->udp_sum, payload);
}

/* 0 where both checksums hold; nothing else is looked at. */
static inline uint16_t bare_verify(const uint8_t *frame, uint32_t payload) {
    const struct bare_headers *h = (const struct bare_headers *)frame;
    const uint8_t *ip = (const uint8_t *)&h->ip;
    const uint64_t addresses = load64(&h->ip.src_addr);
    uint32_t middle;
    memcpy(&middle, ip + 8, sizeof middle);
    const uint64_t ip_sum = sum_add(sum_add(addresses, middle), load64(ip));
    const uint64_t udp_sum = sum_add(addresses, (uint64_t)RTE_BE16(IPPROTO_UDP) + h->udp.dgram_len);
    const uint16_t of_ip = sum_fold(ip_sum);
    const uint16_t of_udp = sum_fold(sum_bytes(udp_sum, (const uint8_t *)&h->udp, sizeof h->udp + payload));
    return (uint16_t)~(of_ip & of_udp);
}

#endif
