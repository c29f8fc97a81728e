// What a stranger may say to an end of RDMA before a connection stands: only an end of the same release and
// plan fits, in either role, and why another one does not is printable.
#include <algorithm>

#include "parts/rdma/rdma.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    using namespace wt;
    static const std::string hash = std::string(32, 'a') + std::string(32, 'b');
    const std::string said(data, data + size);
    for (const side whom : {side::client, side::server}) {
        const std::string expected = introduction_of(hash, whom),
                          objection = objection_to(whom, said, expected);
        require(objection.empty() == (said == expected), "who fits says what we expect");
        require(std::ranges::all_of(objection, [](char c) { return c >= ' ' && c < 0x7f; }),
                "an objection is printable");
    }
    return 0;
}
