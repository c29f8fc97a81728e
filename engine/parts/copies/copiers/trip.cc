#include "parts/copies/copiers/trip.h"

#include <rte_cycles.h>
#include <rte_pause.h>

#include <algorithm>
#include <array>

namespace wt {

namespace {

constexpr uint32_t trips = 24, first_trips = 4;  // the first ones count for nothing: they wake the thread

// Whether the copy ended well before the deadline; *ended: at all.
bool await_end(const copy_channel &channel, uint64_t deadline, bool *ended) {
    copy_end end = copy_end::failed;
    while (channel.completed(channel.state, &end, 1) == 0) {
        if (rte_rdtsc() > deadline) return false;
        rte_pause();
    }
    *ended = true;
    return end == copy_end::well;
}

}  // namespace

copy_trip measure_trip(const copy_channel &channel, const uint8_t *from, uint8_t *to, uint64_t deadline) {
    const copy_piece piece{to, from, trip_bytes};
    std::array<uint64_t, trips> ticks;
    copy_trip trip;
    for (uint32_t i = 0; i < trips; i++) {
        const uint64_t start = rte_rdtsc();
        if (channel.submit(channel.state, &piece, 1) != 1) return trip;
        trip.started++;
        bool ended = false;
        const bool well = await_end(channel, deadline, &ended);
        trip.ended += ended;
        if (!well) return trip;
        ticks[i] = rte_rdtsc() - start;
    }
    const auto counted = ticks.begin() + first_trips, middle = counted + (trips - first_trips) / 2;
    std::nth_element(counted, middle, ticks.end());
    trip.ticks = static_cast<double>(*middle);
    return trip;
}

}  // namespace wt
