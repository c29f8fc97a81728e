// How far what was drawn lies from what the probabilities say.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace wt::test {

using weights = std::vector<double>;

// Pearson's statistic of `draws` draws against the weights, as standard deviations above its mean (its
// degrees of freedom k; variance 2 k). Places are put together until each bin expects 20 draws.
inline double deviation(const weights &expected, int draws, const std::function<uint64_t()> &draw) {
    std::vector<int> seen(expected.size());
    for (int i = 0; i < draws; ++i) ++seen.at(draw());
    const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
    double statistic = 0, bins = 0, want = 0, got = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        want += expected[i] / sum * draws;
        got += seen[i];
        if (want < 20 && i + 1 < expected.size()) continue;
        if (want > 0) statistic += (got - want) * (got - want) / want, ++bins;
        want = got = 0;
    }
    return bins > 1 ? (statistic - (bins - 1)) / std::sqrt(2 * (bins - 1)) : 0;
}

inline weights zipf_weights(uint64_t n, double exponent) {
    weights all;
    for (uint64_t rank = 1; rank <= n; ++rank) all.push_back(std::pow(static_cast<double>(rank), -exponent));
    return all;
}

}  // namespace wt::test
