/* A thread that was taken out of its system call has to get back into it. If the tracer did that, the
 * tracer's death would leave the thread on a stack that leads nowhere. So the thread does it itself, as after
 * a signal: a signal frame with all that it had is put on its stack, and the function returns into
 * rt_sigreturn(), where the kernel takes it from. All of it is written below the stack's end; one request of
 * ptrace then sets the registers. A tracer that dies before has changed nothing, and one that dies afterwards
 * is not needed any more. */
#include "call.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "refusal.h"

enum {
    RED_ZONE = 128, /* of the ABI: bytes below the stack pointer that are in use */
    STATE_BYTES = 16384,
    LEGACY_BYTES = 576, /* FXSAVE and the header of XSAVE */
    SOFTWARE = 464,     /* of FXSAVE: bytes that are the kernel's */
    MAGIC1 = 0x46505853,
    MAGIC2 = 0x46505845,
    FLAGS = 1 | 2 | 4,      /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
    NO_STACK_CHANGE = 0x7f, /* no flags of sigaltstack(): the kernel leaves it as it is */
    DIRECTION_AND_TRAP = 0x500,
};

/* struct rt_sigframe of the kernel (arch/x86/include/asm/sigframe.h). */
struct frame {
    uint64_t restorer;
    uint64_t flags, link, stack_pointer;
    uint32_t stack_flags, unused;
    uint64_t stack_bytes;
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, trap, old_mask, fault, state, reserved[8];
    uint64_t mask;
    char info[128];
};
_Static_assert(offsetof(struct frame, r8) == 48 && offsetof(struct frame, state) == 232,
               "as the kernel has it");

/* What is written below the stack: the frame lies 8 bytes behind a multiple of 64, where a function expects
 * its stack to be, and the state at one. */
static struct {
    uint64_t unused;
    struct frame frame;
    char state[STATE_BYTES] __attribute__((aligned(64)));
    char text[PATH_MAX];
} image;

/* Bytes of the extended state without AMX, which a process has to ask for: the kernel takes no larger one
 * back. */
static uint32_t bytes_of_state(uint64_t features) {
    uint32_t bytes = LEGACY_BYTES;
    for (unsigned feature = 2; feature < 63; feature++) {
        unsigned size = 0, offset = 0, unused;
        if (!(features >> feature & 1)) continue;
        __cpuid_count(0xd, feature, size, offset, unused, unused);
        if (offset + size > bytes) bytes = offset + size;
    }
    return bytes;
}

static bool read_state(pid_t tid) {
    const uint64_t amx = 3ull << 17;
    struct iovec all = {image.state, sizeof image.state - 64}; /* room for what follows it */
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &all)) return false;
    uint64_t features, present;
    memcpy(&features, image.state + SOFTWARE, sizeof features);
    memcpy(&present, image.state + 512, sizeof present);
    features &= ~amx;
    present &= ~amx;
    memcpy(image.state + 512, &present, sizeof present);
    const uint32_t bytes = bytes_of_state(features), magic = MAGIC2;
    if (bytes + sizeof magic > sizeof image.state) return false;
    const struct {
        uint32_t magic, extended_bytes;
        uint64_t features;
        uint32_t bytes, padding[7];
    } software = {MAGIC1, bytes + (uint32_t)sizeof magic, features, bytes, {0}};
    memcpy(image.state + SOFTWARE, &software, sizeof software);
    memcpy(image.state + bytes, &magic, sizeof magic);
    return true;
}

/* What it had, so that it makes its system call once more: the instruction has two bytes. */
static void fill_frame(const struct user_regs_struct *r, uint64_t restorer, uint64_t mask, uint64_t state) {
    image.frame = (struct frame){
        .restorer = restorer,
        .flags = FLAGS,
        .stack_flags = NO_STACK_CHANGE,
        .r8 = r->r8,
        .r9 = r->r9,
        .r10 = r->r10,
        .r11 = r->r11,
        .r12 = r->r12,
        .r13 = r->r13,
        .r14 = r->r14,
        .r15 = r->r15,
        .rdi = r->rdi,
        .rsi = r->rsi,
        .rbp = r->rbp,
        .rbx = r->rbx,
        .rdx = r->rdx,
        .rax = r->orig_rax,
        .rcx = r->rcx,
        .rsp = r->rsp,
        .rip = r->rip - 2,
        .eflags = r->eflags,
        .cs = (uint16_t)r->cs,
        .ss = (uint16_t)r->ss,
        .state = state,
        .mask = mask,
    };
}

static _Noreturn void give_up(pid_t tid, const char *why) {
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
    wt_refuse(WT_RESTART, "%s", why);
}

void wt_call(const struct wt_target *target, const struct wt_sleeper *sleeper, uint64_t function,
             uint64_t restorer, const char *text, uint64_t number) {
    struct user_regs_struct registers = sleeper->registers;
    uint64_t mask;
    const uint64_t base = (registers.rsp - RED_ZONE - sizeof image) & ~63ull;
    if (ptrace(PTRACE_GETSIGMASK, sleeper->tid, (void *)sizeof mask, &mask) || !read_state(sleeper->tid))
        give_up(sleeper->tid, "the thread's state cannot be read");
    fill_frame(&registers, restorer, mask, base + offsetof(__typeof__(image), state));
    strncpy(image.text, text, sizeof image.text - 1);
    if (pwrite(target->memory, &image, sizeof image, (off_t)base) != sizeof image)
        give_up(sleeper->tid, "the thread's stack cannot be written");
    registers.rip = function;
    registers.rsp = base + offsetof(__typeof__(image), frame);
    registers.rdi = base + offsetof(__typeof__(image), text);
    registers.rsi = number;
    registers.rax = 0;
    registers.orig_rax = ~0ull; /* no system call is to be made again */
    registers.eflags &= ~(unsigned long long)DIRECTION_AND_TRAP;
    if (ptrace(PTRACE_SETREGS, sleeper->tid, NULL, &registers))
        give_up(sleeper->tid, "the thread ended meanwhile");
    mask = ~0ull; /* the frame has the thread's own: until then no handler finds the loader at work */
    ptrace(PTRACE_SETSIGMASK, sleeper->tid, (void *)sizeof mask, &mask);
    ptrace(PTRACE_DETACH, sleeper->tid, NULL, NULL);
}
