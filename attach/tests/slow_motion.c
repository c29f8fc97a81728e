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
 * frame) control (bits, see control_threads.h) sender (1: the last lcore receives nothing and sends). */
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
#include "drivers.h"

static struct lcore lcores[LCORES];
static uint64_t turns_wanted, forever; /* shared: read by lcores */
static bool leave;
static pthread_barrier_t begin, end;

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

/* What an lcore behind a ring does: it sends packets that it has not received from a port. */
static void send_alone(void) {
    void *packets[MOST];
    const uint16_t burst = (uint16_t)value_of("burst");
    for (uint16_t i = 0; i < burst; i++) packets[i] = &self->mbufs[i];
    call(0, true, packets, burst);
}

static void turn(void) {
    if (value_of("sender") && self->index + 1 == value_of("lcores")) {
        send_alone();
        return;
    }
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
        put_entry((unsigned)number, false, rx_data, rx_data[number]);
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
        if (!take_key(arguments[i])) return 2;
    for (unsigned i = 0; i < LCORES; i++) {
        lcores[i].index = i;
        for (unsigned k = 0; k < MOST; k++) {
            for (unsigned byte = 0; byte < FRAME; byte++)
                lcores[i].frames[k][byte] = (char)(i * 40 + k * 7 + byte * 3);
            lcores[i].mbufs[k].buffer = lcores[i].frames[k] - 128;
            lcores[i].mbufs[k].data_off = 128;
        }
    }
    open_ports();
    start_lcores();
    start_control_threads((unsigned)value_of("control"));
    print_all();
    fflush(stdout);
    char line[100];
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n")) execute(line, arguments);
    _exit(0);
}
