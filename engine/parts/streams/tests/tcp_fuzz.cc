// TCP between two ends, or with a hostile peer: packets that are changed, cut, doubled, lost and made up,
// against an open connection and a listening one, beside copies that end later. Whatever comes, the account
// of bytes holds, and what is copied goes where it was promised while acknowledgements that would empty the
// buffer wait.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "parts/streams/tcp.h"

namespace {

using namespace wt;

using packet = std::vector<uint8_t>;

constexpr uint16_t mtu = 576;
constexpr uint32_t buffer_bytes = 3000;

void must(bool holds) {
    if (!holds) std::abort();
}

uint8_t byte_at(uint64_t position) { return static_cast<uint8_t>(position * 167 + (position >> 8)); }

struct copy {
    uint8_t *to;
    uint32_t bytes;
};

struct end {
    uint8_t sends[buffer_bytes], receives[buffer_bytes];
    tcp_connection *c;
    uint64_t committed = 0, made = 0, read = 0;
    uint8_t *at = nullptr;
    std::deque<copy> copies;
    std::deque<packet> arriving;
    bool lied_to = false;  // its peer's bytes are no longer those of the stream

    end(uint32_t ip, uint32_t peer_ip, bool checksums, uint64_t seed) {
        const tcp_settings s = {.ip = ip,
                                .peer_ip = peer_ip,
                                .port = static_cast<uint16_t>(peer_ip ? 1000 : 2000),
                                .peer_port = 2000,
                                .mtu = mtu,
                                .checksums = checksums,
                                .congestion = static_cast<tcp_congestion>(seed % 3),
                                .seed = seed,
                                .send_buffer = sends,
                                .receive_buffer = receives,
                                .send_bytes = buffer_bytes,
                                .receive_bytes = buffer_bytes};
        c = wt_tcp_open(&s);
        must(c != nullptr);
    }
    ~end() { wt_tcp_free(c); }

    bool writes() const {
        const tcp_state state = wt_tcp_state_of(c);
        return state == tcp_state::open || state == tcp_state::peer_finished;
    }
    void begin_copy(uint32_t bytes) {
        if (!writes() || bytes == 0) return;
        if (made - committed + wt_tcp_unacknowledged(c) + bytes > buffer_bytes) return;
        if (copies.empty()) at = wt_tcp_send_at(c);
        for (uint32_t piece; bytes > 0; bytes -= piece) {
            piece = std::min<uint32_t>(bytes, static_cast<uint32_t>(sends + buffer_bytes - at));
            copies.push_back({at, piece});
            made += piece;
            at = at + piece == sends + buffer_bytes ? sends : at + piece;
        }
    }
    void end_copy() {
        if (copies.empty()) return;
        const copy ends = copies.front();
        copies.pop_front();
        for (uint32_t i = 0; i < ends.bytes; i++) ends.to[i] = byte_at(committed + i);
        const bool open = writes();
        must(wt_tcp_commit(c, ends.to, ends.bytes) == open);
        if (open)
            committed += ends.bytes;
        else
            made = committed, copies.clear();
    }
    void consume(uint64_t most) {
        const uint8_t *from;
        const uint64_t bytes = std::min(most, wt_tcp_received(c, &from));
        if (bytes == 0) return;
        must(from >= receives && from + bytes <= receives + buffer_bytes);
        for (uint64_t i = 0; i < bytes && !lied_to; i++) must(from[i] == byte_at(read + i));
        wt_tcp_consume(c, bytes);
        read += bytes;
    }
    packet make(int64_t now) {
        packet made_one(mtu);
        const uint32_t bytes = wt_tcp_make_packet(c, now, made_one.data(), nullptr);
        must(bytes <= mtu);
        made_one.resize(bytes);
        return made_one;
    }
    void take(int64_t now, end &peer) {
        if (arriving.empty()) return;
        const packet &p = arriving.front();
        if (!copies.empty() && wt_tcp_would_empty(c, p.data(), static_cast<uint32_t>(p.size()))) return;
        const uint64_t before = wt_tcp_unacknowledged(c);
        packet reply(mtu);
        reply.resize(wt_tcp_take_packet(c, now, p.data(), static_cast<uint32_t>(p.size()), reply.data()));
        must(copies.empty() || !writes() || before == 0 || wt_tcp_unacknowledged(c) > 0);
        arriving.pop_front();
        if (!reply.empty()) peer.arriving.push_back(reply);
        tcp_counters counted;
        wt_tcp_read_counters(c, &counted);
        must(counted.acknowledged_bytes + wt_tcp_unacknowledged(c) == committed);
    }
};

// So that a changed packet is looked at, and not thrown away at once.
void mend(packet &p) {
    if (p.size() < 20) return;
    p[0] = 0x45;
    p[2] = static_cast<uint8_t>(p.size() >> 8), p[3] = static_cast<uint8_t>(p.size());
    p[6] = p[7] = p[10] = p[11] = 0;
    uint32_t sum = 0;
    for (size_t i = 0; i < 20; i += 2) sum += static_cast<uint32_t>(p[i] << 8 | p[i + 1]);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    p[10] = static_cast<uint8_t>(~sum >> 8), p[11] = static_cast<uint8_t>(~sum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    const bool checksums = data[0] & 1;
    end ends[2] = {{0x0a000001, 0x0a000002, checksums, data[1]}, {0x0a000002, 0, checksums, data[1] + 1u}};
    int64_t now = 1;
    if (data[0] & 2) {
        wt_tcp_connect(ends[0].c);
        for (int i = 0; i < 4; i++)
            for (end &e : ends) {
                end &peer = &e == ends ? ends[1] : ends[0];
                if (const packet p = e.make(now); !p.empty()) peer.arriving.push_back(p);
                peer.take(now, e);
            }
    }
    for (size_t i = 2; i + 1 < size; i += 2) {
        end &e = ends[data[i] >> 7], &peer = ends[1 - (data[i] >> 7)];
        const uint32_t amount = data[i + 1];
        switch (data[i] & 15) {
            case 0: wt_tcp_connect(ends[0].c); break;
            case 1: e.begin_copy(amount * 8); break;
            case 2: e.end_copy(); break;
            case 3: e.consume(amount * 16); break;
            case 4: e.take(now, peer); break;
            case 5:
                if (const packet p = e.make(now); !p.empty()) peer.arriving.push_back(p);
                break;
            case 6: now += amount * 20'000; break;
            case 7:  // lost
                if (!e.arriving.empty()) e.arriving.pop_front();
                break;
            case 8:  // doubled, behind the others
                if (!e.arriving.empty()) e.arriving.push_back(packet(e.arriving.front()));
                break;
            case 9:  // changed
                if (!e.arriving.empty() && i + 3 < size) {
                    packet &p = e.arriving.front();
                    for (size_t at = amount; at < p.size() && at < amount + 2; at++)
                        p[at] ^= data[i + 2 + at - amount];
                    mend(p);
                    e.lied_to = e.lied_to || !checksums;
                    i += 2;
                }
                break;
            case 10:  // cut
                if (!e.arriving.empty()) {
                    packet &p = e.arriving.front();
                    p.resize(std::min<size_t>(p.size(), amount));
                    mend(p);
                    e.lied_to = e.lied_to || !checksums;
                }
                break;
            case 11:  // made up
                e.arriving.emplace_back(data + i + 2, data + std::min<size_t>(size, i + 2 + amount));
                if (data[i] & 16) mend(e.arriving.back());
                e.lied_to = e.lied_to || !checksums;
                break;
            case 12: e.copies.empty() ? wt_tcp_finish(e.c) : e.end_copy(); break;
            case 13:
                if (amount == 255) wt_tcp_abort(e.c);
                break;
            default: break;
        }
    }
    return 0;
}
