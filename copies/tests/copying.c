/* Makes the copies that its arguments name, each as FUNCTION:BYTES:COPIES:TO:FROM, where TO and FROM are
 * places in one buffer that begins on a page.
 *
 * The first argument may say how. fork, clone, vfork: first itself, and then in a child, for which it waits.
 * thread: in a thread that is named copier. signal: while a handler of SIGALRM copies, too. exec: as another
 * program. orphan: in a child that nobody waits for.
 *
 * exit N and kill N: it ends so. chk: it writes beyond a buffer that __memcpy_chk knows. scribble: it writes
 * ones into all that it has mapped of the page. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__memcpy_chk(void *to, const void *from, size_t bytes, size_t room);
extern void *__memmove_chk(void *to, const void *from, size_t bytes, size_t room);
extern void *__mempcpy_chk(void *to, const void *from, size_t bytes, size_t room);

enum { AREA = 64 << 20 };

static uint8_t *area;
static char **copies;

static void fail(const char *why) {
    fprintf(stderr, "copying: %s\n", why);
    _exit(3);
}

static uint8_t byte_at(size_t place) { return (uint8_t)(place * 7 + (place >> 8) * 13 + 1); }

static void *call(const char *function, uint8_t *to, const uint8_t *from, size_t bytes) {
    if (!strcmp(function, "memcpy")) return memcpy(to, from, bytes);
    if (!strcmp(function, "memmove")) return memmove(to, from, bytes);
    if (!strcmp(function, "mempcpy")) return (uint8_t *)mempcpy(to, from, bytes) - bytes;
    if (!strcmp(function, "memcpy_chk")) return __memcpy_chk(to, from, bytes, bytes);
    if (!strcmp(function, "memmove_chk")) return __memmove_chk(to, from, bytes, bytes);
    if (!strcmp(function, "mempcpy_chk")) return (uint8_t *)__mempcpy_chk(to, from, bytes, bytes) - bytes;
    fail("no such function");
    return NULL;
}

/* Sees that each byte is there: also of those that overlap, which memcpy does not promise and glibc does. */
static void copy_once(const char *function, size_t bytes, size_t to, size_t from, int is_first) {
    if (is_first)
        for (size_t i = 0; i < bytes; i++) area[from + i] = byte_at(i);
    if (call(function, area + to, area + from, bytes) != area + to) fail("another result");
    if (is_first)
        for (size_t i = 0; i < bytes; i++)
            if (area[to + i] != byte_at(i)) fail("another byte");
}

static void *make_copies(void *arguments) {
    for (char **argument = arguments; *argument; argument++) {
        char function[16];
        size_t bytes, count, to, from;
        if (sscanf(*argument, "%15[^:]:%zu:%zu:%zu:%zu", function, &bytes, &count, &to, &from) != 5) continue;
        if (to + bytes > AREA || from + bytes > AREA) fail("beyond the buffer");
        for (size_t i = 0; i < count; i++) copy_once(function, bytes, to, from, i == 0);
    }
    return NULL;
}

static void on_alarm(int number) {
    (void)number;
    uint8_t here[256];
    for (int i = 0; i < 100; i++) memcpy(here, area, sizeof here);
}

static void be_interrupted(void) {
    const struct itimerval often = {{0, 200}, {0, 200}};
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    make_copies(copies);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
}

static void wait_for(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child || status) fail("the child failed");
}

static void in_child(pid_t child) {
    if (child == 0) {
        make_copies(copies);
        _exit(0);
    }
    wait_for(child);
}

/* Ends when the orphan has ended, whose end of a pipe is then closed. */
static void in_orphan(void) {
    int ends[2];
    char byte;
    if (pipe(ends)) fail("no pipe");
    if (fork()) {
        close(ends[1]);
        if (read(ends[0], &byte, 1)) fail("another end");
        return;
    }
    if (fork()) _exit(0);
    make_copies(copies);
    _exit(0);
}

static void as_another_program(char **arguments) {
    arguments[1] = arguments[0];
    execv(arguments[0], arguments + 1);
    fail("no other program");
}

static void in_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, make_copies, copies);
    pthread_setname_np(thread, "copier");
    pthread_join(thread, NULL);
}

static void scribble(void) {
    char line[512];
    FILE *const maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        if (!strstr(line, "memfd:windtunnel") || sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
        for (unsigned long i = begin; i < end; i++) *(volatile uint8_t *)i = 0xff;
    }
    fclose(maps);
}

int main(int count, char **arguments) {
    if (count < 2) fail("what is to be done?");
    const char *const how = arguments[1];
    copies = arguments + 1;
    area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!strcmp(how, "fork") || !strcmp(how, "clone") || !strcmp(how, "vfork")) make_copies(copies);
    if (!strcmp(how, "fork"))
        in_child(fork());
    else if (!strcmp(how, "clone"))
        in_child((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0));
    else if (!strcmp(how, "vfork"))
        in_child(vfork());
    else if (!strcmp(how, "thread"))
        in_thread();
    else if (!strcmp(how, "signal"))
        be_interrupted();
    else if (!strcmp(how, "exec"))
        as_another_program(arguments);
    else if (!strcmp(how, "orphan"))
        in_orphan();
    else
        make_copies(copies);
    for (char **argument = copies; *argument; argument++) {
        if (!strcmp(*argument, "scribble")) scribble();
        if (!strcmp(*argument, "exit")) return atoi(argument[1]);
        if (!strcmp(*argument, "kill")) kill(getpid(), atoi(argument[1]));
        if (!strcmp(*argument, "chk")) __memcpy_chk(area, area + 64, 32, 16);
    }
    return 0;
}
