// Histograms as JSON: the mirror of Histogram in src/windtunnel/engine/histogram.py.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>

namespace wt {

// The sum of histograms of one layout, as one JSON object.
template <typename Histogram>
nlohmann::ordered_json histogram_json(const Histogram &h) {
    using json = nlohmann::ordered_json;
    json counts = json::array();
    for (uint32_t i = 0; i < Histogram::buckets; i++)
        if (h.counts[i]) counts.push_back({Histogram::lowest_of(i), h.counts[i]});
    return {{"bits", Histogram::bits},
            {"counts", counts},
            {"total", h.total},
            {"sum", h.sum},
            {"min", h.total ? json(h.min) : json()},
            {"max", h.total ? json(h.max) : json()}};
}

// Adds `from` to `into`, bucket by bucket.
template <typename Histogram>
void histogram_merge(Histogram &into, const Histogram &from) {
    for (uint32_t i = 0; i < Histogram::buckets; i++) into.counts[i] += from.counts[i];
    into.total += from.total;
    into.sum += from.sum;
    into.min = std::min(into.min, from.min);
    into.max = std::max(into.max, from.max);
}

}  // namespace wt
