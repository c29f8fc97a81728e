/* windtunnel-keeper: starts a program that ends with its parent.
 *
 *   windtunnel-keeper WATCH_FD PID_FD CPU COMMAND...
 *
 * CPU: where the program runs, or -1. Its process id goes to PID_FD, a line of its own, before it runs. When
 * the other end of WATCH_FD closes (also by kill -9) the program gets SIGTERM, PATIENCE_MS later SIGKILL, and
 * so does every process that it started and left behind; when the keeper is killed itself, the program is
 * killed by the kernel. Exit code: the program's, 128 + N after signal N, 125 where it could not be started.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000, CANNOT_START = 125 };

static int refuse(const char *what) {
    fprintf(stderr, "windtunnel-keeper: %s: %s\n", what, strerror(errno));
    return CANNOT_START;
}

static int number(const char *text, long least) {
    char *end;
    const long n = strtol(text, &end, 10);
    if (end != text && *end == '\0' && n >= least && n <= 1 << 20) return (int)n;
    fprintf(stderr, "windtunnel-keeper: %s is not a number\n", text);
    exit(CANNOT_START);
}

/* In the child: tied to the keeper, on its CPU, then the program. */
static void become(pid_t keeper, int watch, int pid_fd, int cpu, char **command) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(CANNOT_START); /* it ended before it could be watched */
    close(watch);
    if (cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        if (sched_setaffinity(0, sizeof set, &set) != 0) _exit(refuse("the CPU"));
    }
    dprintf(pid_fd, "%d\n", (int)getpid());
    close(pid_fd);
    execvp(command[0], command);
    _exit(refuse(command[0]));
}

/* What a program left behind comes to the keeper, its subreaper; each is killed until none is left. */
static void kill_orphans(void) {
    char path[64], line[32];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (int left = 1; left;) {
        FILE *children = fopen(path, "r");
        left = 0;
        while (children && fscanf(children, "%31s", line) == 1) {
            kill((pid_t)atoi(line), SIGKILL);
            left = 1;
        }
        if (children) fclose(children);
        while (left && waitpid(-1, NULL, 0) > 0) continue;
    }
}

int main(int count, char **words) {
    if (count < 5) {
        fputs("usage: windtunnel-keeper WATCH_FD PID_FD CPU COMMAND...\n", stderr);
        return CANNOT_START;
    }
    const int watch = number(words[1], 0), pid_fd = number(words[2], 0), cpu = number(words[3], -1);
    if (cpu >= CPU_SETSIZE) return errno = EINVAL, refuse("the CPU");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGINT, SIG_IGN); /* Ctrl-C ends us through WATCH_FD, when its owner has ended */

    const pid_t keeper = getpid(), child = fork();
    if (child < 0) return refuse("fork");
    if (child == 0) {
        signal(SIGINT, SIG_DFL);
        become(keeper, watch, pid_fd, cpu, words + 4);
    }
    close(pid_fd);
    const int ended = (int)syscall(SYS_pidfd_open, child, 0);
    if (ended < 0) return refuse("pidfd_open"); /* the child ends with this process */
    struct pollfd events[2] = {{watch, 0, 0}, {ended, POLLIN, 0}};
    while (!events[1].revents && !(events[0].revents & (POLLHUP | POLLERR | POLLNVAL)))
        if (poll(events, 2, -1) < 0 && errno != EINTR) break;
    if (!events[1].revents) {
        kill(child, SIGTERM);
        poll(events + 1, 1, PATIENCE_MS);
        kill(child, SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    kill_orphans();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
