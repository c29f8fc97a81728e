// Records frames to pcap files without file access on worker threads: workers copy, the main thread writes.
#pragma once

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace wt {

struct recorder;

enum class direction : uint8_t { sent, received };

// The file of what is received: "run-received.pcap" beside "run.pcap". A frame of a pcap has no direction of
// its own, and its addresses need not tell it: a handler may leave them as they are.
std::string received_path(const std::string &path);

// Opens `path` for what is sent (nanosecond pcap, LINKTYPE_ETHERNET), and received_path() where the peer is
// not ours to record. Throws refusal where one exists or cannot be written.
recorder *recorder_open(const std::string &path, bool takes_received, double ns_per_tick, int numa_socket);

// Worker side: copies the frames with the time `tsc` towards their file. What finds no room is counted as
// missed, never waited for.
void recorder_take(recorder *r, rte_mbuf *const *burst, uint32_t count, uint64_t tsc, direction way);

// Main thread: writes what has been taken. Call it several times a window and after the workers have stopped.
void recorder_drain(recorder *r);

struct recorded {
    uint64_t sent, missed;
    std::optional<uint64_t> received;  // null: not recorded
};
// Drains, flushes and closes; throws refusal where the disk is full (the files then end at a whole frame).
recorded recorder_close(recorder *r);

}  // namespace wt
