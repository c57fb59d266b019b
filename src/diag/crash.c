/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports a fatal signal of a PE: the signal, the faulting address in terms of symmetric memory,
 * and the stack frames. Afterwards the signal ends the PE as usual, so that exit status and core
 * file do not change. A handler that existed before init runs after our handler. A handler that the
 * program installs later replaces our handler. Design: docs/design/launch.md.
 */
#include "crash.h"

#include "boot/boot.h"
#include "core/job_state.h"
#include "backtrace_and_symbol_names.h"
#include "spaces/space_registry.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define CRASH_TEXT 768
/* Size of the alternate stack, without the room in which the kernel saves registers. */
#define CRASH_STACK ((size_t)64 << 10)
#define CRASH_SECONDS 5 /* time limit for the report */
#define CRASH_STACK_DISTANCE ((uintptr_t)64 << 10)

/*
 * Signals that our handler reports. If the field `explained` is true, our handler explains the
 * fault even if the program has its own handler for the signal.
 */
static const struct {
    int signo;
    const char *name;
    bool explained;
} crash_signals[] = {
    {SIGSEGV, "SIGSEGV", true}, {SIGBUS, "SIGBUS", true},    {SIGFPE, "SIGFPE", false},
    {SIGILL, "SIGILL", false},  {SIGABRT, "SIGABRT", false},
};

#define N_SIGNALS STP_COUNT(crash_signals)

static struct {
    struct sigaction old_actions[N_SIGNALS];
    bool handled[N_SIGNALS];
    bool installed;
    char *stack; /* alternate stack of the thread that called init, or NULL */
    size_t stack_bytes;
    int dying_tid; /* number of the thread that reports a signal, or 0 */
} crash;

static size_t crash_index(int signo)
{
    size_t i = 0;

    while (i + 1 < N_SIGNALS && crash_signals[i].signo != signo)
        i++;
    return i;
}

static bool crash_is_default(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

/* ---- the fault ------------------------------------------------------------------------- */

struct crash_place {
    const void *code;   /* address of the interrupted instruction */
    const void *sp;     /* stack pointer */
    const void *caller; /* return address of a call to an address without code, or NULL */
};

static struct crash_place crash_place(const siginfo_t *info, const ucontext_t *context)
{
    struct crash_place place = {0};

#if defined(__x86_64__)
    place.code = (const void *)context->uc_mcontext.gregs[REG_RIP];
    place.sp = (const void *)context->uc_mcontext.gregs[REG_RSP];
    if (info->si_code > 0 && info->si_addr == place.code)
        place.caller = *(const void *const *)place.sp;
#elif defined(__aarch64__)
    place.code = (const void *)context->uc_mcontext.pc;
    place.sp = (const void *)context->uc_mcontext.sp;
    place.caller = (const void *)context->uc_mcontext.regs[30];
#else
    (void)context;
#endif
    (void)info;
    return place;
}

/*
 * Returns whether the memory at an address can be read. Calls rt_sigprocmask() with the invalid
 * operation -1, so that the call always fails. Before the kernel checks the operation, it reads a
 * signal set from the address. If the kernel cannot read this memory, the error is EFAULT.
 */
static bool crash_is_readable(uintptr_t addr)
{
    int error = errno;
    bool fault =
        syscall(SYS_rt_sigprocmask, -1, addr, NULL, sizeof(uint64_t)) != 0 && errno == EFAULT;

    errno = error;
    return !fault;
}

/*
 * Returns whether the cause of the fault is a full stack. The faulting address must be near the
 * stack pointer. This is not sufficient, because memory above a thread's stack or below its guard
 * page may also be near. If the memory at the stack pointer is not readable, the stack pointer has
 * left the stack, and the stack is full. If this memory is readable, the stack is full only if the
 * fault is below the stack pointer, and all pages between the faulting page and the stack pointer
 * are readable.
 */
static bool crash_stack_full(const siginfo_t *info, const struct crash_place *place)
{
    uintptr_t addr = (uintptr_t)info->si_addr, sp = (uintptr_t)place->sp & ~(sizeof(uint64_t) - 1);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    if (info->si_signo != SIGSEGV || sp == 0 ||
        sp - addr + CRASH_STACK_DISTANCE >= 2 * CRASH_STACK_DISTANCE)
        return false;
    if (!crash_is_readable(sp)) return true;
    if (addr >= sp) return false;
    for (addr = addr / page * page + page; addr < sp; addr += page)
        if (!crash_is_readable(addr)) return false;
    return true;
}

static const char *crash_reason(const siginfo_t *info)
{
    switch (info->si_signo) {
    case SIGSEGV:
        return info->si_code == SEGV_ACCERR ? "the memory does not permit this access"
                                            : "the address is not mapped";
    case SIGBUS:
        return info->si_code == BUS_ADRALN
                   ? "the address is not aligned"
                   : "the mapped file ends before this address, or memory ran out";
    default:
        return NULL;
    }
}

/*
 * Writes an explanation of a fault, in terms of symmetric memory if possible. Checks first whether
 * the stack is full, because stp_symbol_routine() reads the stack.
 */
static void crash_explain(const siginfo_t *info, const struct crash_place *place, char *text,
                          size_t len)
{
    bool access = crash_reason(info) != NULL;

    if (access && info->si_code == SI_KERNEL)
        snprintf(
            text, len,
            "the CPU refused a memory access and reported no address: a pointer is invalid, or "
            "vector data is misaligned");
    else if (access && crash_stack_full(info, place))
        snprintf(text, len,
                 "access to %p, next to the stack pointer %p: the stack is full; look for endless "
                 "recursion or large local arrays, or raise ulimit -s or the stack size of the "
                 "thread",
                 info->si_addr, place->sp);
    else if (access && stp_fault_explain(info, stp_symbol_routine(), text, len))
        ;
    else if (access)
        snprintf(text, len, "access to %p: %s", info->si_addr, crash_reason(info));
    else
        snprintf(text, len, "error in the instruction at %p", info->si_addr);
}

/* ---- the handler ------------------------------------------------------------------------ */

/*
 * Decides whether this thread reports a fatal signal. Returns true in the first thread that
 * receives such a signal. Any other thread waits for some seconds, so that the first thread can
 * report, and then returns false. If the first thread faults again during its report, returns false
 * at once.
 */
static bool crash_enter(void)
{
    int tid = (int)syscall(SYS_gettid), reporter = 0;

    /* Pairs with the same operation in other threads. It succeeds only in the first thread. */
    if (__atomic_compare_exchange_n(&crash.dying_tid, &reporter, tid, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
        return true;
    if (reporter != tid) sleep(CRASH_SECONDS);
    return false;
}

/*
 * Limits the time of the report with SIGALRM, because a lock of the loader or a full pipe may block
 * the report.
 */
static void crash_set_limit(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t set;

    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    alarm(CRASH_SECONDS);
}

static void crash_report(size_t i, const siginfo_t *info, const ucontext_t *context)
{
    struct crash_place place = crash_place(info, context);
    char text[CRASH_TEXT] = "";

    crash_set_limit();
    if (info->si_code > 0)
        crash_explain(info, &place, text, sizeof(text));
    else if (info->si_pid == getpid())
        snprintf(text, sizeof(text), "the program raised this signal itself");
    else
        snprintf(text, sizeof(text), "process %d sent this signal", (int)info->si_pid);
    stp_error("%s (%s); stack frames (addr2line -Cfpie FILE ADDRESS prints their source lines):",
              text, crash_signals[i].name);
    stp_backtrace(place.code, place.caller);
    alarm(0);
}

/* Explains a fault in symmetric memory, then calls the handler that existed before init. */
static void crash_pass_on(size_t i, siginfo_t *info, void *context)
{
    const struct sigaction *old = &crash.old_actions[i];
    struct crash_place place = crash_place(info, context);
    char text[CRASH_TEXT];

    if (info->si_code > 0 && !crash_stack_full(info, &place) &&
        stp_fault_explain(info, stp_symbol_routine(), text, sizeof(text)))
        stp_error("%s", text);
    if (old->sa_flags & SA_SIGINFO)
        old->sa_sigaction(info->si_signo, info, context);
    else if (old->sa_handler != SIG_IGN)
        old->sa_handler(info->si_signo);
    else
        sigaction(info->si_signo, old, NULL); /* the kernel kills processes that ignore faults */
}

static void crash_handler(int signo, siginfo_t *info, void *context)
{
    size_t i = crash_index(signo);

    if (!crash_is_default(&crash.old_actions[i])) {
        crash_pass_on(i, info, context);
        return;
    }
    if (crash_enter()) crash_report(i, info, context);
    stp_fabric_remove_files(true);
    /*
     * Restore the default action. After this handler returns, the faulting instruction runs again
     * and the signal ends the process.
     */
    sigaction(signo, &crash.old_actions[i], NULL);
    if (info->si_code <= 0) raise(signo);
}

/* ---- installing and removing the handler --------------------------------------------------- */

/*
 * Gives this thread an alternate signal stack, so that our handler can run when the thread's stack
 * is full. Other threads do not get an alternate stack.
 */
static void crash_set_alt_stack(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
#ifdef _SC_SIGSTKSZ
    long min_bytes = sysconf(_SC_SIGSTKSZ);
#else
    long min_bytes = SIGSTKSZ; /* in musl, SIGSTKSZ is a constant */
#endif
    size_t nbytes =
        CRASH_STACK + (min_bytes > 0 ? ((size_t)min_bytes + page - 1) / page * page : 0);
    stack_t stack = {0};
    char *memory;

    if (sigaltstack(NULL, &stack) != 0 || !(stack.ss_flags & SS_DISABLE)) return;
    memory =
        mmap(NULL, page + nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    stack = (stack_t){.ss_sp = memory + page, .ss_size = nbytes};
    if (mprotect(memory + page, nbytes, PROT_READ | PROT_WRITE) != 0 ||
        sigaltstack(&stack, NULL) != 0) {
        munmap(memory, page + nbytes);
        return;
    }
    crash.stack = memory;
    crash.stack_bytes = page + nbytes;
}

static void crash_free_alt_stack(void)
{
    stack_t disabled = {.ss_flags = SS_DISABLE}, current;
    const char *memory = crash.stack;

    crash.stack = NULL;
    if (memory == NULL || sigaltstack(NULL, &current) != 0) return;
    /*
     * Free the memory only if it is the alternate stack of this thread. It can be the stack of
     * another thread, because finalize may run in another thread than init. The program may also
     * have set an alternate stack of its own.
     */
    if ((const char *)current.ss_sp <= memory ||
        (const char *)current.ss_sp > memory + crash.stack_bytes)
        return;
    if (sigaltstack(&disabled, NULL) == 0) munmap((void *)(uintptr_t)memory, crash.stack_bytes);
}

void stp_crash_install(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    if (crash.installed || !stp_env.crash) return;
    stp_backtrace_enable_oshrun_copy(stp_rt.pe);
    crash_set_alt_stack();
    action.sa_sigaction = crash_handler;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_SIGNALS; i++) {
        sigaction(crash_signals[i].signo, NULL, &crash.old_actions[i]);
        crash.handled[i] = crash_signals[i].explained || crash_is_default(&crash.old_actions[i]);
        if (crash.handled[i]) sigaction(crash_signals[i].signo, &action, NULL);
    }
    crash.installed = true;
}

/* Restores the actions that existed before init, unless the program has replaced our handler. */
void stp_crash_remove(void)
{
    for (size_t i = 0; i < N_SIGNALS && crash.installed; i++) {
        struct sigaction current;

        if (!crash.handled[i] || sigaction(crash_signals[i].signo, NULL, &current) != 0) continue;
        if ((current.sa_flags & SA_SIGINFO) && current.sa_sigaction == crash_handler)
            sigaction(crash_signals[i].signo, &crash.old_actions[i], NULL);
    }
    if (crash.installed) crash_free_alt_stack();
    crash.installed = false;
}
