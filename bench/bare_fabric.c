/* What a round trip over libfabric costs at the least: the reference of bench/rdma.py.
 *
 * Both ends on one thread, as the engine has them on one CPU: the client keeps `inflight` messages under way,
 * the server sends each one back from where it was received. Messages lie as they do in mbufs: a provider
 * that copies by pages (shm, from 4 KiB on) pays for each page that a message touches. Posted receives,
 * copies at the post up to `inline` bytes, a signal for every `signal`th other send (rc), or READ or WRITE in
 * place of messages: as the engine is asked to do it. No mempool, stages, headers or counting.
 *
 *   bare_fabric PROVIDER BYTES INFLIGHT SECONDS CPU send|read|write PORT
 *
 * Prints one JSON object: the round trips of the measured time, its ns, and the ns for which the thread was
 * preempted.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { DEPTH = 256, BURST = 32, INLINE = 128, SIGNAL = 16, KEY = 77, REGION = 64 << 20 };

/* DEPTH are posted, as many can be on their way out. */
enum { PLACES = 2 * DEPTH };

/* In front of a message in its mbuf: rte_mbuf, headroom, the 42 bytes of a frame's headers. */
enum { AHEAD = 128 + 128 + 42 };

struct end {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *events;
    struct fid_pep *listening;
    struct fid_av *addresses;
    struct fid_cq *sends, *receives;
    struct fid_ep *endpoint;
    struct fid_mr *known;
    fi_addr_t peer;
    char *buffers; /* PLACES messages; or the region */
    bool selective;
    uint64_t posted, ended, unsignalled;
    size_t free[PLACES], free_count; /* the last that was freed is used first, as by a mempool's cache */
    size_t sending[DEPTH];           /* the places of posted sends */
    size_t owed[PLACES], owed_first, owed_last; /* what a server has received and not sent back */
};

static const char *provider, *operation;
static size_t bytes, place_bytes;

static void check(int64_t error, const char *what) {
    if (error >= 0) return;
    fprintf(stderr, "%s: %s: %s\n", provider, what, fi_strerror((int)-error));
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t preempted_ns(void) {
    uint64_t ran = 0, waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file == NULL || fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2) waited = 0;
    if (file != NULL) fclose(file);
    return waited;
}

static bool is(const char *what) { return strcmp(operation, what) == 0; }
static bool connected(void) { return strcmp(provider, "tcp") == 0; }

static struct fi_info *offer(const char *node, const char *service, uint64_t flags) {
    struct fi_info *hints = fi_allocinfo(), *found = NULL;
    const bool by_name = strcmp(provider, "shm") == 0;
    hints->fabric_attr->prov_name = strdup(provider);
    hints->ep_attr->type = connected() ? FI_EP_MSG : by_name ? FI_EP_RDM : FI_EP_DGRAM;
    hints->caps = is("send") ? FI_MSG : FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->addr_format = by_name ? FI_ADDR_STR : FI_SOCKADDR_IN;
    check(fi_getinfo(FI_VERSION(1, 17), node, by_name ? NULL : service, flags, hints, &found), "fi_getinfo");
    fi_freeinfo(hints);
    return found;
}

static char *message_at(const struct end *e, size_t place) {
    return e->buffers + place * place_bytes + AHEAD;
}
static size_t take(struct end *e) { return e->free[--e->free_count]; }
static void give(struct end *e, size_t place) { e->free[e->free_count++] = place; }

static void receive_into(struct end *e, size_t place) {
    check(fi_recv(e->endpoint, message_at(e, place), bytes, NULL, FI_ADDR_UNSPEC, (void *)place), "fi_recv");
}

static void open_endpoint(struct end *e, struct fi_info *info) {
    struct fi_cq_attr completions = {.size = DEPTH, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_NONE};
    if (e->domain == NULL) check(fi_domain(e->fabric, info, &e->domain, NULL), "fi_domain");
    check(fi_endpoint(e->domain, info, &e->endpoint, NULL), "fi_endpoint");
    check(fi_cq_open(e->domain, &completions, &e->sends, NULL), "fi_cq_open");
    check(fi_cq_open(e->domain, &completions, &e->receives, NULL), "fi_cq_open");
    e->selective = connected() && is("send");
    check(fi_ep_bind(e->endpoint, &e->sends->fid, FI_TRANSMIT | (e->selective ? FI_SELECTIVE_COMPLETION : 0)),
          "bind");
    check(fi_ep_bind(e->endpoint, &e->receives->fid, FI_RECV), "bind");
    if (connected()) {
        check(fi_ep_bind(e->endpoint, &e->events->fid, 0), "bind");
    } else {
        struct fi_av_attr table = {.type = FI_AV_TABLE, .count = 1};
        check(fi_av_open(e->domain, &table, &e->addresses, NULL), "fi_av_open");
        check(fi_ep_bind(e->endpoint, &e->addresses->fid, 0), "bind");
    }
    check(fi_enable(e->endpoint), "fi_enable");
    if (!is("send")) return;
    for (size_t i = 0; i < PLACES; i++) give(e, i);
    for (size_t i = 0; i < DEPTH; i++) receive_into(e, take(e));
}

static void open_events(struct end *e) {
    struct fi_eq_attr events = {.wait_obj = FI_WAIT_NONE};
    check(fi_fabric(e->info->fabric_attr, &e->fabric, NULL), "fi_fabric");
    if (connected()) check(fi_eq_open(e->fabric, &events, &e->events, NULL), "fi_eq_open");
}

static uint32_t next_event(struct end *e, struct fi_info **info) {
    char entry[sizeof(struct fi_eq_cm_entry) + 256];
    uint32_t event = 0;
    const ssize_t got = fi_eq_read(e->events, &event, entry, sizeof entry, 0);
    if (got == -FI_EAGAIN) return 0;
    check(got, "connecting");
    if (info != NULL) *info = ((struct fi_eq_cm_entry *)(void *)entry)->info;
    return event;
}

static void connect_both(struct end *client, struct end *server, const char *port) {
    server->info = offer("127.0.0.1", port, FI_SOURCE);
    client->info = offer("127.0.0.1", port, 0);
    open_events(server);
    open_events(client);
    check(fi_passive_ep(server->fabric, server->info, &server->listening, NULL), "fi_passive_ep");
    check(fi_pep_bind(server->listening, &server->events->fid, 0), "bind");
    check(fi_listen(server->listening), "fi_listen");
    open_endpoint(client, client->info);
    check(fi_connect(client->endpoint, client->info->dest_addr, NULL, 0), "fi_connect");
    for (int up = 0; up < 2;) {
        struct fi_info *asked = NULL;
        const uint32_t event = next_event(server, &asked);
        if (event == FI_CONNREQ) {
            open_endpoint(server, asked);
            check(fi_accept(server->endpoint, NULL, 0), "fi_accept");
        }
        up += event == FI_CONNECTED;
        up += next_event(client, NULL) == FI_CONNECTED;
    }
}

static void find_each_other(struct end *ends, const char *port) {
    for (int i = 0; i < 2; i++) {
        char name[64], service[16];
        const bool by_name = strcmp(provider, "shm") == 0;
        if (by_name)
            snprintf(name, sizeof name, "bare-fabric-%s-%d", port, i + 1);
        else
            snprintf(name, sizeof name, "127.0.0.%d", i + 1);
        snprintf(service, sizeof service, "%s", port);
        ends[i].info = offer(name, service, FI_SOURCE);
        open_events(&ends[i]);
        open_endpoint(&ends[i], ends[i].info);
    }
    for (int i = 0; i < 2; i++) {
        char name[256];
        size_t length = sizeof name;
        check(fi_getname(&ends[1 - i].endpoint->fid, name, &length), "fi_getname");
        check(fi_av_insert(ends[i].addresses, name, 1, &ends[i].peer, 0, NULL) - 1, "fi_av_insert");
    }
}

/* False: no room; the place is still the caller's. */
static bool send_from(struct end *e, size_t place) {
    int64_t error;
    if (bytes <= INLINE) {
        error = fi_inject(e->endpoint, message_at(e, place), bytes, e->peer);
        if (error == 0) give(e, place);
    } else {
        if (e->posted - e->ended >= DEPTH) return false;
        const bool last = e->posted - e->ended + 1 == DEPTH;
        const bool signalled = !e->selective || last || e->unsignalled + 1 >= SIGNAL;
        const struct iovec piece = {message_at(e, place), bytes};
        const struct fi_msg message = {.msg_iov = &piece,
                                       .iov_count = 1,
                                       .addr = e->peer,
                                       .context = (void *)(uintptr_t)(e->posted + 1)};
        error = fi_sendmsg(e->endpoint, &message, signalled ? FI_COMPLETION : 0);
        if (error == 0) {
            e->sending[e->posted % DEPTH] = place;
            e->posted++;
            e->unsignalled = signalled ? 0 : e->unsignalled + 1;
        }
    }
    if (error == -FI_EAGAIN) return false;
    check(error, "sending");
    return true;
}

static bool send_request(struct end *client) {
    const size_t place = take(client);
    if (send_from(client, place)) return true;
    give(client, place);
    return false;
}

static int64_t ended(struct fid_cq *queue, struct fi_cq_msg_entry *done) {
    const int64_t count = fi_cq_read(queue, done, BURST);
    if (count == -FI_EAGAIN) return 0;
    check(count, "a completion");
    return count;
}

static void reap(struct end *e) {
    struct fi_cq_msg_entry done[BURST];
    if (e->posted == e->ended) return;
    const int64_t count = ended(e->sends, done);
    if (count == 0) return;
    const uint64_t until = e->selective ? (uintptr_t)done[count - 1].op_context : e->ended + (uint64_t)count;
    for (; e->ended < until; e->ended++) give(e, e->sending[e->ended % DEPTH]);
}

/* Responses that came; each place is posted again. */
static int64_t receive_responses(struct end *client) {
    struct fi_cq_msg_entry done[BURST];
    const int64_t count = ended(client->receives, done);
    for (int64_t i = 0; i < count; i++) receive_into(client, (uintptr_t)done[i].op_context);
    return count;
}

/* Requests that came; each place is sent back, and another one is posted. */
static void receive_requests(struct end *server) {
    struct fi_cq_msg_entry done[BURST];
    const int64_t count = ended(server->receives, done);
    for (int64_t i = 0; i < count; i++) {
        server->owed[server->owed_last++ % PLACES] = (uintptr_t)done[i].op_context;
        receive_into(server, take(server));
    }
}

static void send_responses(struct end *server) {
    while (server->owed_first < server->owed_last &&
           send_from(server, server->owed[server->owed_first % PLACES]))
        server->owed_first++;
}

static uint64_t echo(struct end *client, struct end *server, int64_t inflight, uint64_t until) {
    static int64_t under_way;
    uint64_t trips = 0;
    for (uint64_t turn = 0; turn % 64 != 0 || now_ns() < until; turn++) {
        reap(client);
        for (int i = 0; i < BURST && under_way < inflight && send_request(client); i++) under_way++;
        receive_requests(server);
        reap(server);
        send_responses(server);
        const int64_t back = receive_responses(client);
        under_way -= back;
        trips += (uint64_t)back;
    }
    return trips;
}

static uint64_t one_sided(struct end *client, struct end *server, int64_t inflight, uint64_t until) {
    static int64_t under_way;
    static uint64_t place, position;
    struct fi_cq_msg_entry done[BURST];
    const bool by_address = server->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    const uint64_t first = by_address ? (uintptr_t)server->buffers : 0;
    uint64_t trips = 0;
    for (uint64_t turn = 0; turn % 64 != 0 || now_ns() < until; turn++) {
        for (; under_way < inflight; under_way++) {
            char *const local = client->buffers + place % (uint64_t)inflight * bytes;
            const uint64_t at = first + position;
            const int64_t error =
                is("read") ? fi_read(client->endpoint, local, bytes, NULL, client->peer, at, KEY, NULL)
                           : fi_write(client->endpoint, local, bytes, NULL, client->peer, at, KEY, NULL);
            if (error == -FI_EAGAIN) break;
            check(error, operation);
            place++;
            position = (position + bytes) % (REGION - REGION % bytes);
        }
        ended(server->receives, done); /* lets the server's half go on */
        const int64_t count = ended(client->sends, done);
        under_way -= count;
        trips += (uint64_t)count;
    }
    return trips;
}

static char *memory(size_t size) {
    char *const made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) check(-FI_ENOMEM, "memory");
    memset(made, 1, size);
    return made;
}

int main(int argc, char **argv) {
    if (argc != 8) {
        fprintf(stderr, "usage: bare_fabric PROVIDER BYTES INFLIGHT SECONDS CPU send|read|write PORT\n");
        return 2;
    }
    provider = argv[1];
    bytes = strtoul(argv[2], NULL, 10);
    const int64_t inflight = strtol(argv[3], NULL, 10);
    const double seconds = strtod(argv[4], NULL);
    operation = argv[6];
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(strtoul(argv[5], NULL, 10), &cpu);
    sched_setaffinity(0, sizeof cpu, &cpu);

    static struct end ends[2]; /* client, server */
    place_bytes = (AHEAD + bytes + 63) / 64 * 64;
    const size_t of_messages = PLACES * place_bytes, of_client = (size_t)inflight * bytes;
    ends[0].buffers = memory(is("send") ? of_messages : of_client);
    ends[1].buffers = memory(is("send") ? of_messages : REGION);
    connected() ? connect_both(&ends[0], &ends[1], argv[7]) : find_each_other(ends, argv[7]);
    if (!is("send"))
        check(fi_mr_reg(ends[1].domain, ends[1].buffers, REGION, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0,
                        &ends[1].known, NULL),
              "fi_mr_reg");

    uint64_t (*const go)(struct end *, struct end *, int64_t, uint64_t) = is("send") ? echo : one_sided;
    go(&ends[0], &ends[1], inflight, now_ns() + 300000000);
    const uint64_t start = now_ns(), waited = preempted_ns();
    const uint64_t trips = go(&ends[0], &ends[1], inflight, start + (uint64_t)(seconds * 1e9));
    printf("{\"round_trips\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"preempted_ns\": %" PRIu64 "}\n", trips,
           now_ns() - start, preempted_ns() - waited);
    for (int i = 0; i < 2; i++)
        fi_close(&ends[i].endpoint->fid); /* shm leaves a file of its name otherwise */
    return 0;
}
