/* slow_motion [KEY=NUMBER...]: an application with the symbols of DPDK that the probe looks for, and no DPDK.
 * What its drivers and itself take are sleeps that it is told, and it counts what it does, so it is the
 * oracle of what the probe counts.
 *
 * It reads commands, a line each, and answers each with a line of JSON:
 *   run N        every lcore makes N turns             loop, halt    turns without end, until halt
 *   pointers     how many of the ports' functions are not the drivers' own
 *   restart N    N times: every port is stopped, and started again with the other driver
 *   displace     another driver's functions are put into port 0     data N  no function is put into port N
 *   fork, clone  what a child has of the probe (clone: without pthread_atfork's functions)
 *   exec         the program begins anew               lcores        lcores end, and others begin
 *   daemon       a child goes on
 *   quit
 * Keys: ports lcores burst (0: 0, 1, 2 ... 40 in turn) take (tx takes so many at most) rx_us
 * app_us tx_us swap (1: swaps addresses) other (1: other bytes are sent in the same mbufs) bytes (length of a
 * frame) control (bits, see control_threads.h). */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control_threads.h"
#include "keys.h"

enum { PORTS = 4, LCORES = 4, QUEUES = 1024, MOST = 40, FRAME = 1518 };

typedef uint16_t (*burst)(void *queue, void **packets, uint16_t count);

struct mbuf { /* the fields of struct rte_mbuf that the probe knows */
    char *buffer;
    uint64_t iova;
    uint16_t data_off;
    char rearm_and_flags[18];
    uint32_t pkt_len;
    uint16_t data_len;
    char rest[86];
};
_Static_assert(sizeof(struct mbuf) == 128, "as in DPDK");

char rte_eth_fp_ops[PORTS][128] __attribute__((aligned(64)));
__thread unsigned per_lcore__lcore_id = 0xffffffff;

static struct key keys[] = {{"ports", 2}, {"lcores", 1}, {"burst", 0},   {"take", 64},
                            {"rx_us", 0}, {"app_us", 0}, {"tx_us", 0},   {"swap", 1},
                            {"other", 0}, {"bytes", 64}, {"control", 0}, {NULL, 0}};

static uint64_t value_of(const char *name) { return value_in(keys, name); }

unsigned rte_version_year(void);
unsigned rte_version_month(void);
int rte_eth_stats_get(uint16_t port, void *stats);

/* The probe asks before main() has seen its arguments, so the release is in the environment: 2211. */
static unsigned release(void) { return getenv("RELEASE") ? (unsigned)atoi(getenv("RELEASE")) : 2211; }
unsigned rte_version_year(void) { return release() / 100; }
unsigned rte_version_month(void) { return release() % 100; }

/* A queue, and what its driver has done. One lcore uses it. */
struct queue {
    uint64_t calls, packets, refused;
    char line[40]; /* two queues have no line in common */
};
static struct queue rx_queues[PORTS][LCORES], tx_queues[PORTS][LCORES];
static struct queue stopped_queue; /* for lcores that have read a function before a stop, and data after it */
static void *rx_data[PORTS][QUEUES], *tx_data[PORTS][QUEUES], *stopped_data[QUEUES];

static struct lcore {
    pthread_t thread;
    unsigned index;
    uint64_t next_burst;
    struct mbuf mbufs[MOST];
    char frames[MOST][FRAME];
} lcores[LCORES];
static __thread struct lcore *self;

static uint64_t turns_wanted, forever; /* shared: read by lcores */
static bool leave;
static pthread_barrier_t begin, end;

static void rest(uint64_t us) {
    if (us) nanosleep(&(struct timespec){.tv_nsec = (long)us * 1000}, NULL);
}

static uint16_t driver_rx(void *queue, void **packets, uint16_t most) {
    struct queue *const q = queue;
    uint16_t got = (uint16_t)(value_of("burst") ? value_of("burst") : self->next_burst++ % (MOST + 1));
    if (got > most) got = most;
    for (uint16_t i = 0; i < got; i++) {
        packets[i] = &self->mbufs[i];
        self->mbufs[i].pkt_len = (uint32_t)value_of("bytes");
        self->mbufs[i].data_len = (uint16_t)value_of("bytes");
    }
    rest(value_of("rx_us"));
    __atomic_store_n(&q->calls, q->calls + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&q->packets, q->packets + got, __ATOMIC_RELAXED);
    return got;
}

static uint16_t driver_tx(void *queue, void **packets, uint16_t count) {
    struct queue *const q = queue;
    (void)packets;
    const uint16_t sent = (uint16_t)(count < value_of("take") ? count : value_of("take"));
    rest(value_of("tx_us"));
    __atomic_store_n(&q->calls, q->calls + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&q->packets, q->packets + sent, __ATOMIC_RELAXED);
    __atomic_store_n(&q->refused, q->refused + (count - sent), __ATOMIC_RELAXED);
    return sent;
}

/* Other functions that do the same: a port that was configured anew has another driver's path. */
static uint16_t other_rx(void *queue, void **packets, uint16_t most) {
    return driver_rx(queue, packets, most);
}
static uint16_t other_tx(void *queue, void **packets, uint16_t count) {
    return driver_tx(queue, packets, count);
}
static uint16_t no_burst(void *queue, void **packets, uint16_t count) {
    (void)queue, (void)packets, (void)count;
    return 0;
}

static bool is_new(void) { return release() >= 2311; }
static void **place(unsigned port, bool tx, bool data) {
    const size_t burst_at = is_new() ? 16 : 0, data_at = is_new() ? 0 : 24;
    return (void **)(rte_eth_fp_ops[port] + (tx ? 64 : 0) + (data ? data_at : burst_at));
}
static void put(unsigned port, bool tx, void *function, void **data) {
    __atomic_store_n(place(port, tx, false), function, __ATOMIC_RELEASE);
    __atomic_store_n(place(port, tx, true), (void *)data, __ATOMIC_RELEASE);
}
static void start_port(unsigned port, bool other) {
    put(port, false, other ? (void *)other_rx : (void *)driver_rx, rx_data[port]);
    put(port, true, other ? (void *)other_tx : (void *)driver_tx, tx_data[port]);
}
static void stop_port(unsigned port) {
    put(port, false, (void *)no_burst, stopped_data);
    put(port, true, (void *)no_burst, stopped_data);
}
static uint16_t call(unsigned port, bool tx, void **packets, uint16_t count) {
    const burst function = (burst)__atomic_load_n(place(port, tx, false), __ATOMIC_ACQUIRE);
    void **const data = (void **)__atomic_load_n(place(port, tx, true), __ATOMIC_ACQUIRE);
    return function(data[self->index], packets, count);
}

int rte_eth_stats_get(uint16_t port, void *stats) {
    uint64_t *const counters = stats;
    for (unsigned i = 0; i < LCORES; i++) {
        counters[0] += __atomic_load_n(&rx_queues[port][i].packets, __ATOMIC_RELAXED);
        counters[1] += __atomic_load_n(&tx_queues[port][i].packets, __ATOMIC_RELAXED);
    }
    counters[7] = 77; /* rx_nombuf: known to be the eighth */
    return 0;
}

static void work_on(struct mbuf *packet) {
    char *const frame = packet->buffer + packet->data_off;
    char address[6];
    memcpy(address, frame, 6);
    memcpy(frame, frame + 6, 6);
    memcpy(frame + 6, address, 6);
    uint32_t source;
    memcpy(&source, frame + 26, 4);
    memcpy(frame + 26, frame + 30, 4);
    memcpy(frame + 30, &source, 4);
    frame[22]--; /* time to live */
    if (value_of("other")) frame[40]++;
}

static void turn(void) {
    for (unsigned port = 0; port < value_of("ports"); port++) {
        void *packets[MOST];
        const uint16_t got = call(port, false, packets, MOST);
        rest(value_of("app_us"));
        for (uint16_t i = 0; i < got && value_of("swap"); i++) work_on(packets[i]);
        if (got) call(value_of("ports") - 1 - port, true, packets, got);
    }
}

static void *run_lcore(void *lcore) {
    self = lcore;
    per_lcore__lcore_id = self->index + 10;
    for (;;) {
        pthread_barrier_wait(&begin);
        if (leave) return NULL;
        for (uint64_t i = 0; i < turns_wanted || __atomic_load_n(&forever, __ATOMIC_RELAXED); i++) turn();
        pthread_barrier_wait(&end);
    }
}

static void start_lcores(void) {
    pthread_barrier_init(&begin, NULL, (unsigned)value_of("lcores") + 1);
    pthread_barrier_init(&end, NULL, (unsigned)value_of("lcores") + 1);
    leave = false;
    for (unsigned i = 0; i < value_of("lcores"); i++)
        pthread_create(&lcores[i].thread, NULL, run_lcore, &lcores[i]);
}
static void end_lcores(void) {
    leave = true;
    pthread_barrier_wait(&begin);
    for (unsigned i = 0; i < value_of("lcores"); i++) pthread_join(lcores[i].thread, NULL);
}

static unsigned foreign_pointers(void) {
    unsigned foreign = 0;
    for (unsigned port = 0; port < value_of("ports"); port++) {
        void *const rx = __atomic_load_n(place(port, false, false), __ATOMIC_RELAXED);
        void *const tx = __atomic_load_n(place(port, true, false), __ATOMIC_RELAXED);
        foreign += rx != (void *)driver_rx && rx != (void *)other_rx && rx != (void *)no_burst;
        foreign += tx != (void *)driver_tx && tx != (void *)other_tx && tx != (void *)no_burst;
    }
    return foreign;
}

static unsigned count_in(const char *folder, const char *of) {
    unsigned count = 0;
    DIR *const open = opendir(folder);
    for (struct dirent *entry; (entry = readdir(open));) {
        char path[300], target[100] = "";
        snprintf(path, sizeof path, "%s/%.250s", folder, entry->d_name);
        const ssize_t length = readlink(path, target, sizeof target - 1);
        count += of ? length > 0 && strstr(target, of) : entry->d_name[0] != '.';
    }
    closedir(open);
    return count;
}

static void print_queues(const char *name, struct queue (*queues)[LCORES]) {
    printf("\"%s\":[", name);
    for (unsigned port = 0; port < value_of("ports"); port++)
        for (unsigned i = 0; i < value_of("lcores"); i++) {
            const struct queue *const q = &queues[port][i];
            printf("%s{\"port\":%u,\"queue\":%u,\"calls\":%lu,\"packets\":%lu,\"refused\":%lu}",
                   port + i ? "," : "", port, i, __atomic_load_n(&q->calls, __ATOMIC_RELAXED),
                   __atomic_load_n(&q->packets, __ATOMIC_RELAXED),
                   __atomic_load_n(&q->refused, __ATOMIC_RELAXED));
        }
    printf("]");
}

static void print_all(void) {
    printf("{\"foreign\":%u,\"broken\":%u,", foreign_pointers(), wake_control_threads());
    print_queues("rx", rx_queues);
    printf(",");
    print_queues("tx", tx_queues);
    printf("}\n");
}

/* In a child: whether it has wrappers, the memfd, a second thread; and that its calls still reach the
 * drivers. */
static void print_child(bool raw) {
    const long pid = raw ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (pid) {
        waitpid((pid_t)pid, NULL, 0);
        return;
    }
    self = &lcores[0];
    const uint64_t before = rx_queues[0][0].calls;
    turn();
    printf("{\"foreign\":%u,\"memfds\":%u,\"threads\":%u,\"calls\":%lu}\n", foreign_pointers(),
           count_in("/proc/self/fd", "windtunnel-attach"), count_in("/proc/self/task", NULL),
           rx_queues[0][0].calls - before);
    fflush(stdout);
    _exit(0);
}

/* A child that goes on, with control threads of its own, as an application does that becomes a daemon. */
static void print_daemon(void) {
    const pid_t pid = fork();
    if (pid) {
        printf("{\"daemon\":%d}\n", pid);
        return;
    }
    start_control_threads((unsigned)value_of("control"));
    for (;;) pause();
}

static void execute(const char *command, char **arguments) {
    char verb[20] = "";
    uint64_t number = 0;
    sscanf(command, "%19s %lu", verb, &number);
    if (!strcmp(verb, "run") || !strcmp(verb, "loop")) {
        turns_wanted = number;
        __atomic_store_n(&forever, !strcmp(verb, "loop"), __ATOMIC_RELAXED);
        pthread_barrier_wait(&begin);
        if (!forever) pthread_barrier_wait(&end);
    } else if (!strcmp(verb, "halt")) {
        __atomic_store_n(&forever, 0, __ATOMIC_RELAXED);
        pthread_barrier_wait(&end);
    } else if (!strcmp(verb, "restart")) {
        for (uint64_t i = 0; i < number; i++) {
            for (unsigned port = 0; port < value_of("ports"); port++) stop_port(port);
            for (unsigned port = 0; port < value_of("ports"); port++) start_port(port, i % 2 == 0);
            rest(200);
        }
    } else if (!strcmp(verb, "displace")) {
        start_port(0, true);
    } else if (!strcmp(verb, "data")) {
        put((unsigned)number, false, rx_data, rx_data[number]);
    } else if (!strcmp(verb, "lcores")) {
        end_lcores();
        start_lcores();
    } else if (!strcmp(verb, "exec")) {
        execv("/proc/self/exe", arguments);
    }
    if (!strcmp(verb, "daemon"))
        print_daemon();
    else if (!strcmp(verb, "fork") || !strcmp(verb, "clone"))
        print_child(!strcmp(verb, "clone"));
    else
        print_all();
    fflush(stdout);
}

int main(int count, char **arguments) {
    setvbuf(stdin, NULL, _IONBF, 0);
    for (int i = 1; i < count; i++)
        if (!set_key(keys, arguments[i])) return 2;
    for (unsigned i = 0; i < LCORES; i++) {
        lcores[i].index = i;
        for (unsigned k = 0; k < MOST; k++) {
            for (unsigned byte = 0; byte < FRAME; byte++)
                lcores[i].frames[k][byte] = (char)(i * 40 + k * 7 + byte * 3);
            lcores[i].mbufs[k].buffer = lcores[i].frames[k] - 128;
            lcores[i].mbufs[k].data_off = 128;
        }
        for (unsigned port = 0; port < PORTS; port++) {
            rx_data[port][i] = &rx_queues[port][i];
            tx_data[port][i] = &tx_queues[port][i];
        }
        stopped_data[i] = &stopped_queue;
    }
    for (unsigned port = 0; port < value_of("ports"); port++) start_port(port, false);
    start_lcores();
    start_control_threads((unsigned)value_of("control"));
    print_all();
    fflush(stdout);
    char line[100];
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n")) execute(line, arguments);
    _exit(0);
}
