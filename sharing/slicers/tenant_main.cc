// windtunnel-tenant: one tenant that polls. Its plan is one JSON line on stdin, which stays open: it ends
// early when stdin closes. On stdout: hello with the polling thread's id, a line for each window, and the
// sum. The polling thread writes nothing.
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "core/refusal.h"
#include "report/histogram_json.h"
#include "slicers/control.h"
#include "slicers/task.h"
#include "slicers/tenant_plan.h"

using json = nlohmann::ordered_json;

namespace {

// How often the writer looks for a window: several times a window, and seldom enough not to affect the
// tenant.
int look_every_ms(const wt::tenant_plan &plan) {
    return static_cast<int>(std::clamp<uint64_t>(plan.window_ns / 4'000'000, 5, 100));
}

json window_json(const char *type, const wt::tenant_window &w) {
    return {{"type", type},
            {"begin_ns", w.begin_ns},
            {"end_ns", w.end_ns},
            {"own_ns", w.own_ns},
            {"served_ns", w.served_ns},
            {"offered", w.offered},
            {"served", w.served},
            {"lost", w.lost},
            {"polls", w.polls},
            {"empty_polls", w.empty_polls},
            {"sleeps", w.sleeps},
            {"latency", wt::histogram_json(w.latency)},
            {"wait", wt::histogram_json(w.wait)},
            {"slice", wt::histogram_json(w.slices)},
            {"gap", wt::histogram_json(w.gaps)}};
}

void add(wt::tenant_window &sum, const wt::tenant_window &w) {
    if (!sum.begin_ns) sum.begin_ns = w.begin_ns;
    sum.end_ns = w.end_ns;
    for (const auto field :
         {&wt::tenant_window::own_ns, &wt::tenant_window::served_ns, &wt::tenant_window::offered,
          &wt::tenant_window::served, &wt::tenant_window::lost, &wt::tenant_window::polls,
          &wt::tenant_window::empty_polls, &wt::tenant_window::sleeps})
        sum.*field += w.*field;
    wt::histogram_merge(sum.latency, w.latency);
    wt::histogram_merge(sum.wait, w.wait);
    wt::histogram_merge(sum.slices, w.slices);
    wt::histogram_merge(sum.gaps, w.gaps);
}

void run() {
    wt::line_reader commands(STDIN_FILENO);
    std::optional<std::string> line;
    while (!(line = commands.next(-1)))
        if (commands.ended()) throw wt::refusal("no plan on stdin");
    const wt::tenant_plan plan = wt::read_tenant_plan(*line);
    wt::tenant tenant(plan);
    prctl(PR_SET_TIMERSLACK, 1);  // a sleeper is woken on time, not 50 us later
    std::exception_ptr failure;
    std::atomic<bool> failed = false;
    std::thread polling([&] {
        try {
            tenant.run();
        } catch (...) {
            failure = std::current_exception();
            failed = true;
        }
    });
    while (!tenant.tid() && !failed) std::this_thread::yield();
    // Behind tenants that poll on every CPU in a shield it would wait for seconds, and the windows with it.
    wt::go_before_tenants();
    auto sum = std::make_unique<wt::tenant_window>();
    sum->clear(0);
    if (!failed) wt::say(STDOUT_FILENO, {{"type", "hello"}, {"pid", getpid()}, {"tid", tenant.tid()}});
    for (bool over = false; !over && !failed;) {
        over = tenant.ended();  // before the last window is looked for
        commands.next(look_every_ms(plan));
        if (commands.ended()) tenant.stop();
        if (const wt::tenant_window *w = tenant.finished()) {
            if (!wt::say(STDOUT_FILENO, window_json("window", *w))) tenant.stop();
            add(*sum, *w);
            tenant.give_back();
        }
    }
    polling.join();
    if (failure) std::rethrow_exception(failure);
    wt::say(STDOUT_FILENO, window_json("result", *sum));
}

}  // namespace

int main() { return wt::in_words(run); }
