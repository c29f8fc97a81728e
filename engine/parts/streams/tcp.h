// One TCP connection, by smoltcp: its C interface (tcp/src/lib.rs).
//
// It knows IP packets and two buffers. Frames, mbufs and copies are those of its user. Nothing here allocates
// after wt_tcp_open(), waits, or starts a thread. All calls for one connection come from one thread. Times
// are microseconds of one clock that never goes back.
#pragma once

#include <cstdint>

namespace wt {

struct tcp_connection;  // opaque

enum class tcp_congestion : uint8_t { none, reno, cubic };

struct tcp_settings {
    uint32_t ip, peer_ip;  // host byte order; peer_ip is 0 where it listens
    uint16_t port, peer_port;
    uint16_t mtu;    // bytes of an IP packet
    bool checksums;  // false: packets have none, and none is checked
    tcp_congestion congestion;
    uint64_t seed;                          // of sequence numbers
    uint8_t *send_buffer, *receive_buffer;  // the connection's until wt_tcp_free()
    uint64_t send_bytes, receive_bytes;
};

// connecting: a client until its handshake is complete; listening: a server likewise. peer_finished: open,
// but nothing more comes. finishing: our FIN is under way. closed: the peer has acknowledged it. reset: by
// the peer before that, or by wt_tcp_abort().
enum class tcp_state : uint8_t { idle, connecting, listening, open, peer_finished, finishing, closed, reset };

// Since wt_tcp_open(). A segment is retransmitted where it begins below one that was sent before.
struct tcp_counters {
    uint64_t sent_segments, retransmitted_segments;
    uint64_t timeouts;  // retransmissions for which a second had passed without progress: the least RTO
    uint64_t window_probes;
    uint64_t acknowledged_bytes;  // by the peer's numbers, not by what the send buffer holds
};

// What smoltcp's copy of a packet's bytes from the send buffer took, its header and checksums included.
struct tcp_copies {
    uint64_t ticks;  // TSC
    uint64_t packets;
};

extern "C" {

// Null where the settings are impossible: an MTU below 68, a buffer that is empty or larger than 1 GiB, an
// address that is not one host's, or port 0.
tcp_connection *wt_tcp_open(const tcp_settings *settings);
void wt_tcp_free(tcp_connection *c);

// Client: sends a SYN with the next packets.
void wt_tcp_connect(tcp_connection *c);
// No more is sent: the FIN follows what the send buffer holds.
void wt_tcp_finish(tcp_connection *c);
void wt_tcp_abort(tcp_connection *c);

tcp_state wt_tcp_state_of(const tcp_connection *c);
void wt_tcp_read_counters(const tcp_connection *c, tcp_counters *out);

// Takes one IP packet. What it is answered with at once is written to `reply`, where an MTU of bytes has
// room. Returns the reply's bytes; 0: none.
uint32_t wt_tcp_take_packet(tcp_connection *c, int64_t now_us, const uint8_t *packet, uint32_t bytes,
                            uint8_t *reply);
// Writes the next IP packet to `to`, where an MTU of bytes has room. Returns its bytes; 0: there is none.
// `copies`: null where no ticks are taken.
uint32_t wt_tcp_make_packet(tcp_connection *c, int64_t now_us, uint8_t *to, tcp_copies *copies);

// Whether this IP packet would acknowledge all that is in the send buffer, so that the next byte goes
// elsewhere. A connection that takes no more bytes has no next one.
bool wt_tcp_would_empty(const tcp_connection *c, const uint8_t *packet, uint32_t bytes);

// Where the next byte to send goes in the send buffer. An empty buffer begins anew.
uint8_t *wt_tcp_send_at(tcp_connection *c);
// Sends `bytes` that stand at `at`. False, and nothing is sent: the next byte does not go there, or so many
// bytes do not fit without a gap.
bool wt_tcp_commit(tcp_connection *c, const uint8_t *at, uint64_t bytes);
// Bytes that the peer has not acknowledged.
uint64_t wt_tcp_unacknowledged(const tcp_connection *c);

// The bytes that have been received and not consumed, up to the end of the receive buffer.
uint64_t wt_tcp_received(tcp_connection *c, const uint8_t **at);
void wt_tcp_consume(tcp_connection *c, uint64_t bytes);
}

}  // namespace wt
