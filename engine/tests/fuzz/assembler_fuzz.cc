// Sends a sequence of segments, honest and lying, through an assembler and a naive model and compares every
// outcome; at the end every packet must have had exactly one owner.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdio>
#include <cstdlib>

#include "tests/assembler_check.h"

namespace {

using namespace wt;

constexpr uint32_t applications = 2, slots = 2;

void require_nothing(const std::optional<std::string> &wrong) {
    if (!wrong) return;
    std::fprintf(stderr, "assembler and model differ: %s\n", wrong->c_str());
    std::abort();
}

// One time in eight anything at all, else `right`.
template <typename T>
T mostly(FuzzedDataProvider &input, T right) {
    return input.ConsumeIntegralInRange(0, 7) == 7 ? input.ConsumeIntegral<T>() : right;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FuzzedDataProvider input(data, size);
    const uint32_t body = input.ConsumeIntegralInRange<uint32_t>(0, 400);
    const uint32_t full = input.ConsumeIntegralInRange<uint32_t>(1, 100);
    const segmentation shape = segmentation_of(message_header_bytes + body, message_header_bytes + full);
    const uint32_t first = input.ConsumeIntegral<uint32_t>();
    const bool sizes_vary = input.ConsumeBool();
    assembler_check check(applications, slots, shape, sizes_vary);
    while (input.remaining_bytes() > 0) {
        const auto segments = static_cast<uint16_t>(
            sizes_vary ? input.ConsumeIntegralInRange<uint32_t>(1, shape.segments) : shape.segments);
        const auto segment = static_cast<uint16_t>(input.ConsumeIntegralInRange<uint32_t>(0, segments - 1));
        const message_header h = {
            .kind = message_kind::request,
            .workload = 0,
            .application = input.ConsumeIntegralInRange<uint16_t>(0, applications),
            .slot = input.ConsumeIntegralInRange<uint32_t>(0, slots),
            .generation = mostly(input, first + input.ConsumeIntegralInRange<uint32_t>(0, 3)),
            .segment = mostly(input, segment),
            .segments = mostly(input, segments),
        };
        const bool last = h.segment + 1 == segments;
        const uint32_t any = input.ConsumeIntegralInRange<uint32_t>(0, full);
        const uint32_t right_bytes = sizes_vary                   ? (last ? any : full)
                                     : h.segment < shape.segments ? segment_body_bytes(shape, h.segment)
                                                                  : full;
        require_nothing(check.take(h, mostly(input, right_bytes)));
    }
    require_nothing(check.finish());
    return 0;
}
