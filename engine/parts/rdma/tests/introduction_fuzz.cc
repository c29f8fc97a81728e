// What a stranger may say to an end of RDMA before a connection stands: only an end of the same release and
// plan fits, in either role, and why another one does not is printable.
#include <algorithm>

#include "parts/rdma/rdma.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    using namespace wt;
    static const std::string ours = introduction_of(std::string(64, 'a'));
    const std::string theirs(data, data + size);
    for (const std::string &objection : {objection_to(ours, theirs), objection_to(theirs, ours)}) {
        require(objection.empty() == (theirs == ours), "who fits says what we say");
        require(std::ranges::all_of(objection, [](char c) { return c >= ' ' && c < 0x7f; }),
                "an objection is printable");
    }
    return 0;
}
