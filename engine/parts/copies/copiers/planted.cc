// planted: another copier with planted faults, drawn from the seed. It shows what a run does with a copier
// that is late, full, failing, silent or lying.
#include <bit>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/random.h"
#include "core/refusal.h"
#include "parts/copies/copiers/registry.h"

namespace wt {

namespace {

enum class fate : uint8_t { inner, failed, not_copied, one_byte_wrong };

struct promised {
    copy_piece piece;
    uint64_t not_before;  // TSC
    fate what;
};

struct planted {
    copy_channel inner;
    const char *fault;
    uint64_t random, threshold;  // of a fault, of 2^64
    uint64_t most, count = 0;    // faults
    uint64_t late_ticks;
    bool late, full, failing, silent, lying;
    std::vector<promised> queue;  // as they were started
    uint32_t head = 0, tail = 0;  // modulo 2^32
    uint32_t inner_ended = 0;     // of the inner copier, and not reported
    std::vector<copy_end> ends;

    ~planted() {
        if (inner.close) inner.close(inner.state);
    }
    promised &at(uint32_t i) { return queue[i % queue.size()]; }
    bool draw() {
        if (count == most || random_next(&random) >= threshold) return false;
        count++;
        return true;
    }
};

// What becomes of the next copy. A silent copier never ends it, nor any behind it.
fate fate_of(planted &p) {
    if ((!p.failing && !p.lying) || !p.draw()) return fate::inner;
    if (p.failing) return fate::failed;
    return random_next(&p.random) & 1 ? fate::not_copied : fate::one_byte_wrong;
}

// Whether the inner copier has the copy.
bool is_copied(fate what) { return what == fate::inner || what == fate::one_byte_wrong; }

bool start(planted &p, const copy_piece &piece) {
    const fate what = fate_of(p);
    if (is_copied(what) && p.inner.submit(p.inner.state, &piece, 1) == 0) return false;
    const uint64_t not_before = p.late && p.draw() ? now() + p.late_ticks : 0;
    p.at(p.tail++) = {piece, not_before, what};
    return true;
}

uint32_t submit(void *state, const copy_piece *pieces, uint32_t count) {
    planted &p = *static_cast<planted *>(state);
    for (uint32_t i = 0; i < count; i++)
        if ((p.full && p.draw()) || !start(p, pieces[i])) return i;
    return count;
}

// The end of the oldest copy; false: it has not ended.
bool take_end(planted &p, copy_end *end) {
    const promised &oldest = p.at(p.head);
    if (oldest.not_before && now() < oldest.not_before) return false;
    *end = oldest.what == fate::failed ? copy_end::failed : copy_end::well;
    if (is_copied(oldest.what)) {
        if (p.inner_ended == 0) {
            p.inner_ended = p.inner.completed(p.inner.state, p.ends.data(), 1);
            if (p.inner_ended == 0) return false;
            *end = p.ends[0];
        }
        p.inner_ended--;
    }
    if (oldest.what == fate::one_byte_wrong)
        oldest.piece.to[random_below(&p.random, oldest.piece.bytes)] ^= 0x40;
    p.head++;
    return true;
}

uint32_t completed(void *state, copy_end *ends, uint32_t most) {
    planted &p = *static_cast<planted *>(state);
    uint32_t count = 0;
    while (count < most && p.head != p.tail) {
        if (p.silent && (p.count > 0 || p.draw())) return count;
        if (!take_end(p, ends + count)) break;
        count++;
    }
    return count;
}

void close(void *state) { delete static_cast<planted *>(state); }

planted_faults faults_of(const void *state) {
    const planted &p = *static_cast<const planted *>(state);
    return {p.fault, p.count};
}

std::string breach_of_inner(const void *state) {
    const copy_channel &inner = static_cast<const planted *>(state)->inner;
    return inner.breach(inner.state);
}

double share_of(const copier_end &end) {
    char *rest;
    const std::string &text = end.text("share");
    const double share = std::strtod(text.c_str(), &rest);
    if (*rest || text.empty() || !(share >= 0 && share <= 1))
        throw refusal("planted: share = \"" + text + "\" is not a number from 0 to 1");
    return share;
}

copy_channel open(const copier_end &end) {
    const std::string &inner = end.text("engine"), &fault = end.text("fault");
    if (inner == "planted") throw refusal("planted: works on another copier, not on itself");
    auto made = std::make_unique<planted>();
    planted &p = *made;
    for (const auto &[name, flag] : {std::pair{"late", &p.late},
                                     {"full", &p.full},
                                     {"failing", &p.failing},
                                     {"silent", &p.silent},
                                     {"lying", &p.lying}}) {
        *flag = fault == name;
        if (*flag) p.fault = name;
    }
    copier_end to_inner = end;
    to_inner.options.clear();
    p.inner = open_copier(inner, to_inner);
    p.random = end.seed;
    const double share = share_of(end);
    p.threshold = share >= 1 ? UINT64_MAX : static_cast<uint64_t>(std::ldexp(share, 64));
    p.most = end.number("most") ? end.number("most") : UINT64_MAX;
    p.late_ticks = static_cast<uint64_t>(static_cast<double>(end.number("late_us")) * 1e3 * end.ticks_per_ns);
    p.queue.resize(std::bit_ceil(end.depth));
    p.ends.resize(1);
    copy_channel c = p.inner;  // its kind, its device, its thread
    c.submit = submit;
    c.completed = completed;
    c.close = close;
    c.driver = nullptr;
    c.planted = faults_of;
    c.breach = p.inner.breach ? breach_of_inner : nullptr;
    c.immediate = false;
    c.state = made.release();
    return c;
}

constexpr wt_option options[] = {
    {.name = "engine", .fallback = "cpu", .help = "the copier that does the work", .type = WT_TEXT},
    {.name = "profile",
     .fallback = "",
     .help = "profile of the copier model, if that copier does the work",
     .type = WT_TEXT},
    {.name = "fault",
     .fallback = "lying",
     .choices = "late|full|failing|silent|lying",
     .help = "late: ends are reported late; full: copies find no room; failing: they fail; silent: none ends "
             "any more; "
             "lying: they end well, with wrong bytes",
     .type = WT_CHOICE},
    {.name = "share", .fallback = "0.001", .help = "probability of a fault, of each copy", .type = WT_TEXT},
    {.name = "most", .fallback = "0", .help = "faults of each application; 0: any number", .type = WT_COUNT},
    {.name = "late_us", .fallback = "1000", .help = "late: microseconds", .type = WT_COUNT},
    {},
};

}  // namespace

WT_COPIER(planted) = {.name = "planted",
                      .help = "another copier with planted faults, drawn from the seed",
                      .inner_option = "engine",
                      .most_depth = 8191,
                      .options = options,
                      .open = open};

}  // namespace wt
