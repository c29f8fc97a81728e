// The stages of a stream on the rig: a client that writes, and a server that reads and checks.
#pragma once

#include "parts/copies/accounts.h"
#include "parts/copies/tests/copying_rig.h"
#include "parts/registry.h"
#include "parts/streams/stream.h"

namespace wt::test {

constexpr uint32_t write_bytes = 4096;

json stream_plan(const json &stream = json::object(), const json &copies = json::object(),
                 const json &workload = json::object());

struct stream_rig : rig {
    by_hand hand;

    explicit stream_rig(const json &plan = stream_plan(), bool is_by_hand = false) : rig(plan) {
        if (is_by_hand) hand.replace(copying().channel);
    }
    ~stream_rig() {
        hand.may_end = UINT32_MAX;  // what still runs ends well
        finish();
        finish_all_copies(f);
    }
    void finish() {
        f.signals.sending = false;
        loops(300);
        for (int i = 0; i < 10'000 && is_unfinished(); i++) loops(10);
        loops(50);  // the server's word, too
    }

    stream &of(size_t endpoint) { return stream_of(app(endpoint)); }
    tcp_connection *tcp(size_t endpoint) { return of(endpoint).connection.get(); }
    tcp_state state(size_t endpoint) { return wt_tcp_state_of(tcp(endpoint)); }
    // What the spine asks of the part.
    bool is_unfinished() { return ask_parts(&part::is_unfinished, f); }
    bool is_reset() { return ask_parts(&part::end_reason, f) != nullptr; }
    json ledgers() {
        json line;
        call_parts(&part::add_result, f, line);
        return line["streams"];
    }
    body_copying &copying() { return copying_of(app(client)); }
    copy_stats &copies() { return copies_of(stats(client, app_tx)); }
    uint64_t unacknowledged() { return wt_tcp_unacknowledged(tcp(client)); }
    uint32_t in_flight() { return 32 - app(client).inflight->free.used(); }
    // Completes the handshake, and no more.
    void connect() {
        f.signals.sending = false;
        wt_tcp_connect(tcp(client));
        for (int i = 0; i < 3; i++) carry(client), carry(server);
        ASSERT_EQ(state(client), tcp_state::open);
        ASSERT_EQ(state(server), tcp_state::open);
        f.signals.sending = true;
    }
    // What TCP has to send goes to the wire, and what is on the wire to TCP.
    call_result carry(size_t endpoint) {
        run(endpoint, nic_rx);
        const call_result result = run(endpoint, disp_rx);
        run(endpoint, disp_tx);
        run(endpoint, nic_tx);
        return result;
    }
    void expect_all_right() {
        EXPECT_EQ(of(server).found.bytes, of(server).read);
        EXPECT_EQ(of(server).found.wrong_bytes, 0u);
    }
    // Everything that was written has arrived, and both ends have finished.
    void expect_finished() {
        finish();
        EXPECT_EQ(state(client), tcp_state::closed);
        EXPECT_EQ(state(server), tcp_state::closed);
        EXPECT_EQ(of(server).read, of(client).committed);
        EXPECT_EQ(in_flight(), 0u);
        EXPECT_EQ(stats(client, app_rx).responses, stats(client, app_tx).sent);
        EXPECT_EQ(of(client).committed, stats(client, app_tx).sent * of(client).write_bytes);
        EXPECT_FALSE(is_unfinished());
        EXPECT_FALSE(is_reset());
        expect_all_right();
    }
};

}  // namespace wt::test
