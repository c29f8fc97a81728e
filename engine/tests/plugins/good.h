/* A message handler that does nothing, from which each of the others differs in one thing. */
#include <windtunnel/handler.h>

static int good_open(const struct wt_open *open, void **state) {
    (void)open, (void)state;
    return 0;
}

static void good_message(void *state, struct wt_exchange *burst, uint32_t count) {
    (void)state, (void)burst, (void)count;
}

#define GOOD                                                                                          \
    .abi = WT_HANDLER_ABI, .size = sizeof(struct wt_handler), .name = "good", .help = "does nothing", \
    .kind = WT_MESSAGE_HANDLER, .open = good_open, .message = good_message

/* {GOOD, .name = NULL} says a thing twice on purpose: the second word counts */
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif
