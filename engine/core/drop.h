// Every reason for which a packet may be dropped, by name: the names stand in the JSON lines and in the
// report.
#pragma once

#include <cstdint>

namespace wt {

// A name is added only here. Reasons that begin with "emulated" are the wire's emulated faults.
#define WT_DROP_REASONS(X)                                                                        \
    X(runt)          /* shorter than its headers, or than its IP length */                        \
    X(chained)       /* a frame that the driver spread over several mbufs */                      \
    X(untagged)      /* without a tag, on an endpoint in a VLAN */                                \
    X(tagged)        /* with one, on an endpoint in none */                                       \
    X(other_vlan)    /* another VLAN's, or one tag of a provider (IEEE 802.1ad) */                \
    X(double_tagged) /* a VLAN in a VLAN */                                                       \
    X(not_ipv4)      /* an ethertype that is not supported */                                     \
    X(bad_ip_header) /* invalid version, header length or total length */                         \
    X(bad_ip_checksum)                                                                            \
    X(not_ipv6)     /* likewise, on an endpoint with an IPv6 address */                           \
    X(ip_extension) /* IPv6 with an extension header */                                           \
    X(ip_fragment)  /* fragments are not reassembled */                                           \
    X(not_udp)                                                                                    \
    X(not_for_us) /* another MAC or IP address */                                                 \
    X(bad_udp_length)                                                                             \
    X(bad_udp_checksum)                                                                           \
    X(unknown_port) /* no queue has this port */                                                  \
    X(misdirected)  /* the port of another queue */                                               \
    X(arp_not_for_us)                                                                             \
    X(bad_arp)                                                                                    \
    X(arp_unasked)          /* a response or an announcement: addresses are fixed at the start */ \
    X(bad_neighbour)        /* neighbour discovery, IPv6's ARP */                                 \
    X(neighbour_not_for_us) /* asks for another address */                                        \
    X(neighbour_unasked)    /* an advertisement that nobody asked for */                          \
    X(bad_icmp)             /* checksum, or a type that needs no response */                      \
    X(bad_message_header)   /* version or kind is unknown */                                      \
    X(bad_hello)            /* a malformed hello */                                               \
    X(stray_hello)          /* a hello of another session, or to the wrong side */                \
    X(refused_hello)        /* of a client that does not fit; the response has the reason */      \
    X(wrong_workload)                                                                             \
    X(unknown_application)                                                                        \
    X(bad_slot)          /* an in-flight slot that does not exist */                              \
    X(bad_segment_count) /* a wrong number of segments */                                         \
    X(bad_segment_index)                                                                          \
    X(bad_segment_length)                                                                         \
    X(duplicate_segment)                                                                          \
    X(stale_segment) /* of a message older than the one in its slot */                            \
    X(superseded)    /* segments of a message that a newer one replaced */                        \
    X(late_response) /* its message was lost: the timeout passed */                               \
    X(duplicate_response)                                                                         \
    X(without_response)    /* the handler sent no response */                                     \
    X(by_handler)          /* a packet handler's verdict */                                       \
    X(no_message_handler)  /* forwarded, but the workload has no message handler */               \
    X(reply_no_room)       /* an ARP or ICMP reply without room in the port */                    \
    X(emulated_loss)       /* emulated by the wire */                                             \
    X(emulated_queue_full) /* tail drop of the emulated link */

enum class drop : uint8_t {
#define WT_X(name) name,
    WT_DROP_REASONS(WT_X)
#undef WT_X
        count
};

constexpr uint32_t drop_reasons = static_cast<uint32_t>(drop::count);

constexpr const char *drop_names[drop_reasons] = {
#define WT_X(name) #name,
    WT_DROP_REASONS(WT_X)
#undef WT_X
};

}  // namespace wt
