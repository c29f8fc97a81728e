#include "arguments.h"

#include <getopt.h>

#include <cstdlib>

#include "core/refusal.h"

namespace wt {

static constexpr const char *usage =
    "usage: windtunnel-engine --plan FILE --out-fd N --control-fd N\n"
    "       windtunnel-engine --handlers [--plugin FILE]\n"
    "       windtunnel-engine --version\n"
    "`windtunnel run` makes the plan and reads the lines.";

static int descriptor(const char *text) {
    char *end;
    const long n = std::strtol(text, &end, 10);
    if (end == text || *end != '\0' || n < 0 || n > 1 << 20) throw refusal(std::string(text) + " is no descriptor\n" + usage);
    return static_cast<int>(n);
}

arguments read_arguments(int argc, char **argv) {
    static const option options[] = {{"plan", required_argument, nullptr, 'p'},
                                     {"out-fd", required_argument, nullptr, 'o'},
                                     {"control-fd", required_argument, nullptr, 'c'},
                                     {"handlers", no_argument, nullptr, 'h'},
                                     {"plugin", required_argument, nullptr, 'g'},
                                     {"version", no_argument, nullptr, 'v'},
                                     {}};
    arguments a;
    for (int o; (o = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
        switch (o) {
            case 'p': a.plan = optarg; break;
            case 'o': a.out_descriptor = descriptor(optarg); break;
            case 'c': a.control_descriptor = descriptor(optarg); break;
            case 'h': a.handlers = true; break;
            case 'g': a.plugin = optarg; break;
            case 'v': a.version = true; break;
            default: throw refusal(usage);
        }
    }
    const bool flies = !a.plan.empty() && a.out_descriptor >= 0 && a.control_descriptor >= 0;
    if (optind != argc || !(flies || a.handlers || a.version)) throw refusal(usage);
    return a;
}

}  // namespace wt
