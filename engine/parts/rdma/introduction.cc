#include <algorithm>

#include "parts/rdma/rdma.h"

namespace wt {

namespace {

constexpr size_t digits = 32;        // of the plan's hash: two plans with the same ones are not met by chance
constexpr size_t shown_digits = 12;  // of these, to a user

// "wt1 0.6.0 5e1f...": its three words.
struct introduction {
    std::string mark, release, plan;
    explicit introduction(const std::string &text) {
        const size_t first = text.find(' '),
                     second = first == std::string::npos ? first : text.find(' ', first + 1);
        mark = text.substr(0, first);
        if (second == std::string::npos) return;
        release = text.substr(first + 1, second - first - 1);
        plan = text.substr(second + 1);
    }
};

}  // namespace

std::string introduction_of(const std::string &plan_hash, side of) {
    const size_t half = plan_hash.size() / 2, begin = of == side::server ? half : 0;
    const std::string mark = "wt1 ", plan = plan_hash.substr(begin, std::min(half, digits));
    const size_t room = longest_introduction - mark.size() - plan.size() - 1;
    return mark + std::string(WT_VERSION).substr(0, room) + ' ' + plan;
}

std::string shown_introduction(const std::string &introduction) {
    return introduction.substr(0, introduction.rfind(' ') + 1 + shown_digits);
}

std::string objection_to(side whom, const std::string &said, const std::string &expected) {
    if (said == busy_introduction) return "the server has another client already";
    const std::string who = std::string("the ") + side_names[static_cast<int>(whom)];
    const introduction theirs(said), ours(expected);
    const std::string their_plan = theirs.plan.substr(0, shown_digits),
                      our_plan = ours.plan.substr(0, shown_digits);
    // a terminal or a log shows these words, and a stranger may have said them
    const bool is_printable =
        std::ranges::all_of(theirs.release + their_plan, [](char c) { return c >= ' ' && c < 0x7f; });
    if (theirs.mark != ours.mark || theirs.plan.empty() || !is_printable)
        return who + " is no Windtunnel of this kind";
    if (theirs.release != ours.release)
        return who + "'s release is " + theirs.release + ", this one " + ours.release;
    if (theirs.plan != ours.plan)
        return who + " has another plan: " + their_plan + ", this side expects " + our_plan;
    return "";
}

}  // namespace wt
