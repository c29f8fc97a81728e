// Records frames to a pcap file without file access on worker threads: workers copy, the main thread writes.
#pragma once

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <cstdint>
#include <memory>
#include <string>

namespace wt {

struct recorder;

// Opens `path` (nanosecond pcap, LINKTYPE_ETHERNET). Throws refusal where it exists or cannot be written.
recorder *recorder_open(const std::string &path, double ns_per_tick, int numa_socket);

// Worker side: copies the frames with the time `tsc` towards the file. What finds no room is counted as
// missed, never waited for.
void recorder_take(recorder *r, rte_mbuf *const *burst, uint32_t count, uint64_t tsc);

// Main thread: writes what has been taken. Call it several times a window and after the workers have stopped.
void recorder_drain(recorder *r);

struct recorded {
    uint64_t frames, missed;
};
// Drains, flushes and closes; throws refusal where the disk is full (the file then ends at a whole frame).
recorded recorder_close(recorder *r);

}  // namespace wt
