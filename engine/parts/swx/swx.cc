// P4 pipelines, compiled by DPDK's SWX: the handler swx, and the command by which a spec is compiled before a
// run.
#include <windtunnel/handler.h>

#include <cstdio>

#include "parts/part.h"
#include "parts/swx/object.h"

extern "C" {
extern const wt_handler wt_swx;
}

namespace wt {

namespace {

// FILE, or FILE --compiler NAME.
bool print_object(std::span<const std::string> words) {
    const bool names_compiler = words.size() == 3 && words[1] == "--compiler";
    if (words.size() != 1 && !names_compiler) return false;
    std::printf("%s\n", spec_object(words[0], names_compiler ? words[2] : "gcc").c_str());
    return true;
}

const wt_handler *const handlers[] = {&wt_swx};
const part_command commands[] = {
    {"--spec", " FILE [--compiler NAME]",
     "  --spec FILE           compile a DPDK SWX spec; print the path of the object\n"
     "  --compiler NAME       C compiler for --spec (default: gcc)",
     print_object}};

}  // namespace

WT_PART(swx) = {.name = "swx", .handlers = handlers, .commands = commands};

}  // namespace wt
