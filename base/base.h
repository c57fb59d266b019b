/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every part of Steppe stands on: log and fatal errors, the environment
 * table, text, element types, the clock and waiting.
 * Knows nothing of PEs beyond the number printed in messages; includes libc only.
 * Design: docs/design/base.md.
 */
#ifndef STP_BASE_H
#define STP_BASE_H

#include <complex.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define STP_LIKELY(x) __builtin_expect(!!(x), 1)
#define STP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define STP_COLD __attribute__((cold, noinline))
#define STP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define STP_CACHE_LINE 64
#define STP_ALIGNED_LINE __attribute__((aligned(STP_CACHE_LINE)))
#define STP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- log ---------------------------------------------------------------- */

enum stp_log_level { STP_LOG_ERROR, STP_LOG_WARN, STP_LOG_INFO, STP_LOG_DEBUG };

extern int stp_log_level; /* messages above it are dropped; set by stp_log_identify() */

/*
 * Say who speaks. Before the first call messages carry the host only, with pe -1 neither.
 * Thread: the one that initialises.
 * pe: world number, -1 for "not a PE". level: highest level printed.
 */
void stp_log_identify(int pe, int level);

/* Print one line to standard error: "steppe: pe 3 (host): <text>". Any thread. */
void stp_log(int level, const char *fmt, ...) STP_PRINTF(2, 3);

/*
 * Print "steppe: pe 3 (host): <routine>: <text>" and end the whole job with status 1
 * through the hook of stp_fatal_hook(), or exit(1) when none is set. routine may be NULL;
 * a leading "p" of a profiling name is not printed. What the program has printed is flushed after
 * the line, in the process that is the PE.
 */
_Noreturn void stp_fatal(const char *routine, const char *fmt, ...) STP_PRINTF(2, 3) STP_COLD
    __attribute__((noreturn)); /* twice: clang takes only this one for a part of the type */

/* The name users wrote: a weak alias of routine, which has a "p" in front for profiling. */
const char *stp_public_name(const char *routine);

/*
 * How to end the job: called once with the exit status; must not return. This process is the PE,
 * until another one, its child, calls stp_log_identify().
 */
void stp_fatal_hook(void (*end_job)(int status));

/*
 * Unless stp_deadline_end() comes first, late() is called after so many seconds, in a signal
 * handler of any thread; it must end the process. For processes that are about to end: takes
 * SIGALRM for good. Context: anywhere, a signal handler too.
 */
void stp_deadline(unsigned seconds, void (*late)(void));
void stp_deadline_end(void);

/*
 * Flushes stdout, stderr, then all streams, for a process that is about to end. When that takes
 * longer than 2 s, late() is called as by stp_deadline(). Context: anywhere, a signal handler too.
 */
void stp_flush_stdio_before_exit(void (*late)(void));

/*
 * strerror(), but for a limit that users can raise (descriptors, size of files) it names the limit
 * and says so. Valid until the thread's next call.
 */
const char *stp_errno_text(int error);

/* A limit of this process (RLIMIT_...), SIZE_MAX for none. *hard, if not NULL: its maximum. */
size_t stp_limit(int resource, size_t *hard);

/* How many descriptors this process has open; -1: unknown. */
int stp_count_fds(void);

/*
 * Between the two, what makes a file longer than ulimit -f fails with EFBIG in this thread, without
 * SIGXFSZ, whose handler and mask are the program's.
 */
struct stp_sigxfsz {
    sigset_t before;
    bool pending; /* the signal was, for the program */
};

void stp_sigxfsz_block(struct stp_sigxfsz *growth);
void stp_sigxfsz_unblock(const struct stp_sigxfsz *growth);

/* ftruncate() so. Returns 0 or -errno. */
int stp_file_resize(int fd, size_t nbytes);

/* Name of this host, from gethostname(); never NULL. */
const char *stp_hostname(void);

#define stp_error(...) stp_log(STP_LOG_ERROR, __VA_ARGS__)
#define stp_warn(...) stp_log(STP_LOG_WARN, __VA_ARGS__)
#define stp_info(...)                                                                              \
    do {                                                                                           \
        if (STP_UNLIKELY(stp_log_level >= STP_LOG_INFO)) stp_log(STP_LOG_INFO, __VA_ARGS__);       \
    } while (0)
#define stp_debug(...)                                                                             \
    do {                                                                                           \
        if (STP_UNLIKELY(stp_log_level >= STP_LOG_DEBUG)) stp_log(STP_LOG_DEBUG, __VA_ARGS__);     \
    } while (0)

/* ---- environment -------------------------------------------------------- */

enum stp_env_kind {
    STP_ENV_PRESENT, /* bool: set to anything counts, even to nothing */
    STP_ENV_BOOL,    /* bool: on/off, yes/no, true/false, 1/0 */
    STP_ENV_INT,     /* int, -1 or more */
    STP_ENV_COUNT,   /* int, 1 or more */
    STP_ENV_SIZE,    /* size_t: number with optional suffix k m g t; see stp_env_parse_size() */
    STP_ENV_GROWTH,  /* struct stp_env_growth: a size, or two with a colon between */
    STP_ENV_STRING,  /* const char *, NULL when unset or empty */
    STP_ENV_CHOICE,  /* int: index into the row's words */
};

/* What something has, and what it may grow to: the same where that is not said. */
struct stp_env_growth {
    size_t size, max;
};

enum stp_env_pmi { STP_PMI_AUTO, STP_PMI_1, STP_PMI_2, STP_PMI_SINGLE, STP_PMI_X };

/*
 * The kinds of memory, in the order of the SHMEM_DEVICE_ constants; PEs tell each other their
 * numbers. stp_kind_NAME is the row of operations: docs/design/kinds.md.
 */
#define STP_KINDS(ROW) ROW(CPU, cpu) ROW(GPU, gpu) ROW(HBM, hbm) ROW(FAM, fam)

#define STP_KIND_TYPE(NAME, name) STP_DEVICE_##NAME,
enum stp_device_type { STP_KINDS(STP_KIND_TYPE) STP_N_DEVICE_TYPES };

/* Values of all variables, filled by stp_env_load(). One row of the table in env.c each. */
struct stp_env {
    bool version;                    /* SHMEM_VERSION */
    bool info;                       /* SHMEM_INFO */
    bool debug;                      /* SHMEM_DEBUG */
    struct stp_env_growth symmetric; /* SHMEM_SYMMETRIC_SIZE, bytes */
    bool warn;                       /* SHMEM_WARN: print warnings */
    bool check;                      /* SHMEM_CHECK */
    bool crash;                      /* SHMEM_CRASH: say why a PE dies of a signal */
    bool node;                       /* SHMEM_NODE: use load/store between PEs of a node */
    size_t window_size;              /* SHMEM_WINDOW_SIZE, bytes, 0 = automatic */
    int spin;                        /* SHMEM_SPIN: polls before a wait yields, -1 = automatic */
    const char *coll_table;          /* SHMEM_COLL_TABLE */
    int isa;                         /* SHMEM_ISA, enum stp_isa */
    int pmi;                         /* SHMEM_PMI, enum stp_env_pmi */
    const char *launcher;            /* SHMEM_LAUNCHER, read by oshrun */
    bool resolve;                    /* SHMEM_RESOLVE, read by oshrun */
    const char *ofi_provider;        /* SHMEM_OFI_PROVIDER */
    const char *ofi_fabric;          /* SHMEM_OFI_FABRIC */
    const char *ofi_domain;          /* SHMEM_OFI_DOMAIN */
    const char *ofi_interface;       /* SHMEM_OFI_INTERFACE: names or subnets, by commas */
    size_t ofi_bounce_size;          /* SHMEM_OFI_BOUNCE_SIZE: puts up to it are copied, bytes */
    int ofi_endpoints;
    bool ofi_progress_thread; /* SHMEM_OFI_PROGRESS_THREAD */
    int peer_timeout;         /* SHMEM_PEER_TIMEOUT, seconds, 0 = never */
    int hang_report;          /* SHMEM_HANG_REPORT, seconds, 0 = never */
    bool spaces_table;        /* SHMEM_SPACES_TABLE: PE 0 prints the table at creation */
    int default_space;        /* SHMEM_DEFAULT_SPACE: device type of the default space */
    bool kind_enabled[STP_N_DEVICE_TYPES]; /* SHMEM_ENABLE_<KIND>: a space at init */
    size_t kind_size[STP_N_DEVICE_TYPES];  /* SHMEM_<KIND>_SYMMETRIC_SIZE, bytes a PE */
    bool gpu;                              /* SHMEM_GPU: look for GPUs */
    int gpu_device;                        /* SHMEM_GPU_DEVICE: ordinal, -1 = by locality */
    bool gpu_ipc;         /* SHMEM_GPU_IPC: map GPU memory of other PEs of the node */
    int stream_waits;     /* SHMEM_STREAM_WAITS: streams that may wait at once */
    bool gpu_reduce;      /* SHMEM_GPU_REDUCE: by kernels, where they reach all the data */
    bool pin_heap;        /* SHMEM_PIN_HEAP: GPUs reach the default heap */
    const char *fam_path; /* SHMEM_FAM_PATH: directory, file or DAX device */
};

struct stp_env_row {
    const char *name;  /* SHMEM_... */
    const char *alias; /* the standard's older name, or NULL; the name wins when both are set */
    enum stp_env_kind kind;
    size_t offset;            /* of the value in struct stp_env */
    const char *fallback;     /* default, as text; NULL: unset */
    const char *const *words; /* STP_ENV_CHOICE: NULL-terminated */
    const char *help;         /* one line */
};

extern struct stp_env stp_env;
extern const struct stp_env_row stp_env_table[];
extern const size_t stp_env_n_rows;

/*
 * Read every variable into stp_env. Returns 0, or -EINVAL when a value is wrong: each wrong one
 * is logged with its name, its value and what would be right.
 */
int stp_env_load(void);

/*
 * Parse text as SHMEM_SYMMETRIC_SIZE is defined: decimal integer or floating number, then
 * optionally one of k m g t in either case (binary factors), anything after that letter ignored;
 * rounded up to whole bytes, exactly and in any locale. Returns 0 and sets *bytes, or -EINVAL
 * (empty, negative, nan, inf, hexadecimal, other text after the number) or -ERANGE (above
 * SIZE_MAX). Spec 1.6, chapter 8.
 */
int stp_env_parse_size(const char *text, size_t *bytes);

/*
 * The environment's next variable with a name of ours, SHMEM_ or SMA_, that nobody reads. *at: 0 at
 * first, then as the last call left it. name: its name, cut to len. Returns the known name that is
 * nearest, "" when none is near, NULL when there are no more.
 */
const char *stp_env_unknown(size_t *at, char *name, size_t len);

/* Warn of each of them. */
void stp_env_warn_unknown(void);

/* Value of a row as text for people: into buf, at most len bytes; returns buf. */
const char *stp_env_format(const struct stp_env_row *row, char *buf, size_t len);

/* Writes a size as the variables take it, with the largest unit that leaves no rest: "512m". */
void stp_env_format_size(size_t bytes, char *buf, size_t len);

/* True when the row's variable or its alias is set in the environment. */
bool stp_env_is_set(const struct stp_env_row *row);

/* ---- text and hashes ------------------------------------------------------ */

#define STP_SIZE_TEXT 32 /* bytes of a size as text */

/* "1.5 GiB": four digits; "unlimited" for SIZE_MAX. Returns text. */
const char *stp_size_text(size_t nbytes, char text[STP_SIZE_TEXT]);

/* "1536 MiB": every byte of it. Returns text. */
const char *stp_size_exact(size_t nbytes, char text[STP_SIZE_TEXT]);

/* Is word in the list, whose words are separated by a comma and any number of spaces after it? */
bool stp_words_have(const char *list, const char *word);

/* The number behind key at the start of a line of the file, of its first with one; "" fits any. */
size_t stp_file_number(const char *path, const char *key); /* SIZE_MAX: there is none */

/*
 * Returns the state of a process or thread, 'R', 'S', 'T' and so on, from its stat file in /proc;
 * 0 when the file cannot be read. Allocates no memory.
 */
char stp_stat_state(const char *path);

/* The place of a value in n ascending ones, -1 when it is not there. */
int stp_ascending_find(const int *values, int n, int value);

/* A list of PEs in words, "0-3, 5": ascending; one that is there already may come again. */
struct stp_pe_list {
    char text[1024];
    size_t len;
    int first, last; /* of the range that is open; start with first = -1 */
};

void stp_pe_list_append(struct stp_pe_list *list, int pe);
void stp_pe_list_end(struct stp_pe_list *list);

#define STP_HASH_EMPTY 0xcbf29ce484222325u /* of no bytes (FNV-1a) */

/* The hash of what has been hashed before and of nbytes more. */
uint64_t stp_hash(uint64_t hash, const void *data, size_t nbytes);

/* ---- cores (cores_and_spin.c) -------------------------------------------------------- */

#define STP_CORES_MAX 1024

/* Cores, by their numbers on this host. */
struct stp_cores {
    uint64_t bits[STP_CORES_MAX / 64];
};

/* Those that the calling thread may run on; all that there are, where the system does not tell. */
void stp_cores_mine(struct stp_cores *cores);
void stp_cores_add(struct stp_cores *cores, const struct stp_cores *more);
int stp_cores_count(const struct stp_cores *cores);

/* ---- clock and waiting -------------------------------------------------- */

/* Monotonic nanoseconds. */
static inline uint64_t stp_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void stp_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#else
    /* Orders the compiler alone: a loop around this function reads memory again. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * Set for how many polls waits spin before they yield (cores_and_spin.c): polls, or, if that is
 * negative, a number that depends on whether the host has a core for each PE. Where it has not,
 * long waits also sleep: see stp_yield_or_sleep().
 */
void stp_wait_choose(int polls, bool enough_cores);

extern int stp_wait_spin;     /* polls before yielding; set once at init */
extern int stp_wait_sleep_ms; /* that a wait sleeps at most, a second; likewise */

struct stp_wait_subject;

/* What is done for waits that have lasted for a while, by any thread. */
struct stp_wait_hooks {
    void (*look)(void); /* after peers, again and again; decides itself how often it does */
    /* as stp_wait_publish_subject() in wait_state_page.h */
    void (*show)(const struct stp_wait_subject *subject);
};
extern const struct stp_wait_hooks *stp_wait_hook; /* NULL: nothing */

/* Call look: for threads of our own beside which the program, or a device, waits for peers. */
void stp_wait_run_hook(void);

/*
 * Sleep while *word, shared by processes or not, is seen; at most stp_wait_sleep_ms, and also for
 * no reason: look again and come back. False: nobody has woken it. stp_wait_sleep() looks after
 * what long waits do then. And wake up to n that sleep.
 */
bool stp_sleep_on(const uint32_t *word, uint32_t seen);
void stp_wake(const uint32_t *word, int n);
void stp_wait_sleep(const uint32_t *word, uint32_t seen);

/*
 * Let another thread run. turns: of the caller's wait so far, 0 where it does not count them. Once
 * in 1024 calls of a thread it sleeps for some 50 us instead, and it does so each time when turns
 * is at least stp_yield_turns: STP_YIELD_CROWDED where PEs share cores, else more than any wait
 * has. Returns true once in 1024 calls; stp_yield_and_watch_peers() then calls stp_wait_run_hook().
 */
#define STP_YIELD_CROWDED 256
extern unsigned stp_yield_turns;
bool stp_yield_or_sleep(unsigned turns);
void stp_yield_and_watch_peers(unsigned turns);

/* State of one wait: spin stp_wait_spin times, then yield each time. Start with {0}. */
struct stp_wait {
    int polls;
    unsigned turns; /* of the loop: how long it lasts (wait_state_page.h, stp_yield_or_sleep()) */
};

static inline void stp_wait_step(struct stp_wait *wait)
{
    if (STP_LIKELY(wait->polls < stp_wait_spin)) {
        wait->polls++;
        stp_cpu_relax();
    } else {
        stp_yield_and_watch_peers(wait->turns);
    }
}

/* ---- threads of the library (own_threads_and_last_exit.c) ------------------------------------ */

/*
 * Start so a thread of the library's own, which takes no signals but faults. name: at most 15
 * characters, of static life. Returns 0 or -errno; -EAGAIN: threads ran out.
 */
int stp_thread_start(pthread_t *thread, const char *name, void *(*main)(void *));

/*
 * To be called about once a second by each such thread: when all threads of the program have
 * ended, this process exits with status 0, as it would without the library.
 */
void stp_process_exit_if_program_over(void);

/* Threads of this process that are not the library's, the calling one included; -1: unknown. */
int stp_thread_count_program(void);

/* ---- element types ------------------------------------------------------ */

/* A datatype is what the bits mean, not how C spells it: long and int64_t are one. */
enum stp_dtype {
    STP_I8,
    STP_U8,
    STP_I16,
    STP_U16,
    STP_I32,
    STP_U32,
    STP_I64,
    STP_U64,
    STP_F32,
    STP_F64,
    STP_FLD, /* long double */
    STP_C32, /* float _Complex */
    STP_C64, /* double _Complex */
    STP_N_DTYPES
};

#define STP_INT_DTYPE(type)                                                                        \
    ((type)-1 < (type)1 ? (sizeof(type) == 1   ? STP_I8                                            \
                           : sizeof(type) == 2 ? STP_I16                                           \
                           : sizeof(type) == 4 ? STP_I32                                           \
                                               : STP_I64)                                          \
                        : (sizeof(type) == 1   ? STP_U8                                            \
                           : sizeof(type) == 2 ? STP_U16                                           \
                           : sizeof(type) == 4 ? STP_U32                                           \
                                               : STP_U64))

/* The datatype of a C type, decided by the compiler; an integer constant. */
/* clang-format off */
#define STP_DTYPE(type)                                                                            \
    _Generic((type)0,                                                                              \
        float: STP_F32,                                                                            \
        double: STP_F64,                                                                           \
        long double: STP_FLD,                                                                      \
        float _Complex: STP_C32,                                                                   \
        double _Complex: STP_C64,                                                                  \
        char: STP_INT_DTYPE(char),                                                                 \
        signed char: STP_I8,                                                                       \
        unsigned char: STP_U8,                                                                     \
        short: STP_INT_DTYPE(short),                                                               \
        unsigned short: STP_INT_DTYPE(unsigned short),                                             \
        int: STP_INT_DTYPE(int),                                                                   \
        unsigned int: STP_INT_DTYPE(unsigned int),                                                 \
        long: STP_INT_DTYPE(long),                                                                 \
        unsigned long: STP_INT_DTYPE(unsigned long),                                               \
        long long: STP_INT_DTYPE(long long),                                                       \
        unsigned long long: STP_INT_DTYPE(unsigned long long))
/* clang-format on */

size_t stp_dtype_size(enum stp_dtype dtype);

/* Reduction operators of the standard. */
enum stp_op { STP_AND, STP_OR, STP_XOR, STP_MAX, STP_MIN, STP_SUM, STP_PROD, STP_N_OPS };

/* True when the standard has this reduction: no bitwise on floats, no order on complex. */
bool stp_op_valid(enum stp_op op, enum stp_dtype dtype);

/*
 * inout[i] = inout[i] op in[i] for nelems elements. Integers wrap in their own width. The arrays
 * are the same or disjoint. Requires stp_op_valid(op, dtype).
 */
void stp_op_reduce(enum stp_op op, enum stp_dtype dtype, void *inout, const void *in,
                   size_t nelems);

/*
 * to[i] = also[i] = x[i] op y[i], in one pass. Each of to and also is x, y, the other one, or
 * disjoint from all.
 */
void stp_op_combine(enum stp_op op, enum stp_dtype dtype, void *to, void *also, const void *x,
                    const void *y, size_t nelems);

/* Levels of vector instructions for reductions, ascending; all give the same bits. */
enum stp_isa { STP_ISA_AUTO, STP_ISA_BASE, STP_ISA_AVX2, STP_ISA_AVX512 };

/* The highest that this processor has. */
enum stp_isa stp_isa_best(void);

/* Use it from now on: false where the processor does not have it. While nobody reduces. */
bool stp_isa_choose(enum stp_isa isa);

#endif /* STP_BASE_H */
