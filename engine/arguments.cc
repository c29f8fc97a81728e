#include "arguments.h"

#include <getopt.h>

#include <cstdlib>

#include "core/refusal.h"
#include "parts/registry.h"

namespace wt {

static const char *const usage_of_spine =
    "usage: windtunnel-engine --plan FILE --out-fd N --control-fd N [--turn-in-fd N --turn-out-fd N]\n"
    "       windtunnel-engine --plan FILE --handlers-only --out-fd N --control-fd N\n"
    "       windtunnel-engine --check-plan FILE...\n"
    "       windtunnel-engine --handlers [--plugin FILE]\n"
    "       windtunnel-engine --wires\n"
    "       windtunnel-engine --ladder [--most BYTES] [--rounds N] [--pages huge|small]\n"
    "       windtunnel-engine --version\n";

static const char *const help_of_spine =
    "\n"
    "Runs one plan, or prints what this engine has. `windtunnel run` makes the plan and reads the output.\n"
    "\n"
    "  --plan FILE           run this plan\n"
    "  --handlers-only       open the plan's handlers as its run would, and run nothing\n"
    "  --out-fd N            write JSON lines to this file descriptor\n"
    "  --control-fd N        stop when the other end of this pipe closes\n"
    "  --turn-in-fd N        alternate with another engine: wait for a byte from here\n"
    "  --turn-out-fd N       alternate with another engine: pass the byte on to here\n"
    "  --check-plan FILE...  check plans; run nothing\n"
    "  --handlers            print the handlers and their options as JSON\n"
    "  --plugin FILE         print this plug-in instead of the built-in handlers\n"
    "  --wires               print the wires and their options as JSON\n"
    "  --ladder              measure load latency by memory size; print JSON lines\n"
    "  --most BYTES          largest memory size (default: 256 MiB)\n"
    "  --rounds N            rounds over all sizes, 1 to 100 (default: 3)\n"
    "  --pages huge|small    page size (default: huge)\n"
    "  --version             print the versions of engine and DPDK, and the build\n"
    "  --help                print this help";

std::string usage() {
    std::string usages = usage_of_spine, help = help_of_spine;
    for (const part *p : all_parts())
        for (const part_command &command : p->commands) {
            usages += std::string("       windtunnel-engine ") + command.name + command.words + "\n";
            help += std::string("\n") + command.help;
        }
    return usages + help;
}

static int descriptor(const char *text) {
    char *end;
    const long n = std::strtol(text, &end, 10);
    if (end == text || *end != '\0' || n < 0 || n > 1 << 20)
        throw refusal(std::string(text) + " is not a file descriptor\n" + usage());
    return static_cast<int>(n);
}

static size_t between(const char *text, size_t least, size_t most) {
    char *end;
    const unsigned long long n = std::strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || n < least || n > most)
        throw refusal(std::string(text) + " is not a number from " + std::to_string(least) + " to " +
                      std::to_string(most) + "\n" + usage());
    return n;
}

static bool huge(const std::string &pages) {
    if (pages != "huge" && pages != "small") throw refusal(pages + " is neither huge nor small\n" + usage());
    return pages == "huge";
}

arguments read_arguments(int argc, char **argv) {
    static const option options[] = {{"plan", required_argument, nullptr, 'p'},
                                     {"out-fd", required_argument, nullptr, 'o'},
                                     {"control-fd", required_argument, nullptr, 'c'},
                                     {"turn-in-fd", required_argument, nullptr, 'i'},
                                     {"turn-out-fd", required_argument, nullptr, 't'},
                                     {"handlers-only", no_argument, nullptr, 'q'},
                                     {"handlers", no_argument, nullptr, 'h'},
                                     {"plugin", required_argument, nullptr, 'g'},
                                     {"wires", no_argument, nullptr, 'w'},
                                     {"ladder", no_argument, nullptr, 'l'},
                                     {"most", required_argument, nullptr, 'm'},
                                     {"rounds", required_argument, nullptr, 'r'},
                                     {"pages", required_argument, nullptr, 's'},
                                     {"check-plan", no_argument, nullptr, 'k'},
                                     {"version", no_argument, nullptr, 'v'},
                                     {"help", no_argument, nullptr, 'e'},
                                     {}};
    arguments a;
    if (argc > 1) a.command = find_command(argv[1]);
    if (a.command) {
        a.words.assign(argv + 2, argv + argc);
        return a;
    }
    bool checks_plans = false;
    for (int o; (o = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
        switch (o) {
            case 'p': a.plan = optarg; break;
            case 'o': a.out_descriptor = descriptor(optarg); break;
            case 'c': a.control_descriptor = descriptor(optarg); break;
            case 'i': a.turns.in = descriptor(optarg); break;
            case 't': a.turns.out = descriptor(optarg); break;
            case 'q': a.handlers_only = true; break;
            case 'h': a.handlers = true; break;
            case 'g': a.plugin = optarg; break;
            case 'w': a.wires = true; break;
            case 'l': a.asks_ladder = true; break;
            case 'm': a.ladder.most_bytes = between(optarg, 1 << 16, size_t{1} << 40); break;
            case 'r': a.ladder.rounds = static_cast<unsigned>(between(optarg, 1, 100)); break;
            case 's': a.ladder.huge_pages = huge(optarg); break;
            case 'k': checks_plans = true; break;
            case 'v': a.version = true; break;
            case 'e': a.help = true; break;
            default: throw refusal(usage());
        }
    }
    const bool runs = !a.plan.empty() && a.out_descriptor >= 0 && a.control_descriptor >= 0;
    if ((a.turns.in < 0) != (a.turns.out < 0)) throw refusal(usage());
    if (checks_plans) a.plans.assign(argv + optind, argv + argc), optind = argc;
    const bool asks = a.handlers || a.wires || a.asks_ladder || !a.plans.empty() || a.version || a.help;
    if (optind != argc || !(runs || asks)) throw refusal(usage());
    return a;
}

}  // namespace wt
