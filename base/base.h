/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The foundation of every part of Steppe: messages and fatal errors, the environment table, text,
 * element types, the clock, waiting, and threads of the library. The functions know PEs only by the
 * number printed in messages. This header includes only libc.
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

extern int stp_log_level; /* highest level that is printed; set by stp_log_identify() */

/*
 * Sets the PE number that messages carry and the highest level that is printed. Before the first
 * call messages carry only the host name; with pe -1 messages carry neither number nor host. Only
 * the thread that initializes the library may call this function.
 * pe: PE number in the world, or -1 if this process is not a PE. level: highest level printed.
 */
void stp_log_identify(int pe, int level);

/* Prints "steppe: pe 3 (host): <text>" to standard error. Any thread may call stp_log(). */
void stp_log(int level, const char *fmt, ...) STP_PRINTF(2, 3);

/*
 * Public routine that this thread executes, or NULL. stp_log() prints it before an error or a
 * warning that does not begin with it.
 */
extern _Thread_local const char *stp_log_routine;

/*
 * Prints "steppe: pe 3 (host): <routine>: <text>" and ends the whole job with status 1 through the
 * hook of stp_fatal_hook(), or by exit(1) if no hook is set. routine may be NULL; the leading "p"
 * of a profiling name is not printed. After the line, the process that is the PE flushes the output
 * streams of the program.
 */
_Noreturn void stp_fatal(const char *routine, const char *fmt, ...) STP_PRINTF(2, 3) STP_COLD
    __attribute__((noreturn)); /* repeated, because clang makes only this form a part of the type */

/* Returns the name of a routine as users write it, without the "p" of a profiling name. */
const char *stp_public_name(const char *routine);

/*
 * Sets the function that ends the job; it is called once with the exit status and must not return.
 * The calling process becomes the PE. A child process becomes the PE only by stp_log_identify().
 */
void stp_fatal_hook(void (*end_job)(int status));

/*
 * Calls late() after the given number of seconds unless stp_deadline_end() is called before. late()
 * runs in a signal handler of any thread and must end the process. Only a process that is about to
 * end may use this function, because SIGALRM stays with the library. Signal handlers may call
 * stp_deadline().
 */
void stp_deadline(unsigned seconds, void (*late)(void));
void stp_deadline_end(void);

/*
 * Flushes stdout, stderr and then all streams of a process that is about to end. If the flush takes
 * longer than 2 s, late() is called as by stp_deadline(). Signal handlers may call this function.
 */
void stp_flush_stdio_before_exit(void (*late)(void));

/*
 * Returns the text of an errno value, like strerror(). For a limit that users can raise
 * (descriptors, file size) the text names the limit and advises to raise the limit. The text is
 * valid until the thread's next call.
 */
const char *stp_errno_text(int error);

/* Returns a soft limit (RLIMIT_...), SIZE_MAX for none. Sets *hard, unless NULL, to the maximum. */
size_t stp_limit(int resource, size_t *hard);

/* Returns the number of descriptors that this process has open, or -1 if it is unknown. */
int stp_count_fds(void);

/*
 * Between stp_sigxfsz_block() and stp_sigxfsz_unblock(), an operation of this thread that makes a
 * file longer than ulimit -f fails with EFBIG. It does not raise SIGXFSZ, because the handler and
 * the mask of that signal belong to the program.
 */
struct stp_sigxfsz {
    sigset_t before;
    bool pending; /* true if SIGXFSZ was already pending for the program */
};

void stp_sigxfsz_block(struct stp_sigxfsz *growth);
void stp_sigxfsz_unblock(const struct stp_sigxfsz *growth);

/* Resizes a file by ftruncate() with SIGXFSZ blocked. Returns 0 or -errno. */
int stp_file_resize(int fd, size_t nbytes);

/* Returns the name of this host from gethostname(); never NULL. */
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
    STP_ENV_PRESENT, /* bool: true if the variable is set, even to an empty text */
    STP_ENV_BOOL,    /* bool: on/off, yes/no, true/false, 1/0 */
    STP_ENV_INT,     /* int: -1 or greater */
    STP_ENV_COUNT,   /* int: 1 or greater */
    STP_ENV_SIZE,    /* size_t: number with an optional suffix k m g t; see stp_env_parse_size() */
    STP_ENV_GROWTH,  /* struct stp_env_growth: one size, or two sizes separated by a colon */
    STP_ENV_STRING,  /* const char *: NULL if unset or empty */
    STP_ENV_CHOICE,  /* int: index into the words of the row */
};

/* Initial and maximum size of memory that can grow; equal sizes if only one size is given. */
struct stp_env_growth {
    size_t size, max;
};

enum stp_env_pmi { STP_PMI_AUTO, STP_PMI_1, STP_PMI_2, STP_PMI_SINGLE, STP_PMI_X };

/*
 * Kinds of memory, in the order of the SHMEM_DEVICE_ constants. PEs send these numbers to each
 * other. stp_kind_NAME is the table of operations of a kind: docs/design/kinds.md.
 */
#define STP_KINDS(ROW) ROW(CPU, cpu) ROW(GPU, gpu) ROW(HBM, hbm) ROW(FAM, fam)

#define STP_KIND_TYPE(NAME, name) STP_DEVICE_##NAME,
enum stp_device_type { STP_KINDS(STP_KIND_TYPE) STP_N_DEVICE_TYPES };

/* Values of all variables, filled by stp_env_load(). Each field is a row of the table in env.c. */
struct stp_env {
    bool version;                    /* SHMEM_VERSION */
    bool info;                       /* SHMEM_INFO */
    bool debug;                      /* SHMEM_DEBUG */
    struct stp_env_growth symmetric; /* SHMEM_SYMMETRIC_SIZE in bytes */
    bool warn;                       /* SHMEM_WARN: print warnings */
    bool check;                      /* SHMEM_CHECK */
    bool crash;                      /* SHMEM_CRASH: report why a signal ended a PE */
    bool node;                       /* SHMEM_NODE: use load/store between PEs of a node */
    size_t window_size;              /* SHMEM_WINDOW_SIZE in bytes, 0 = automatic */
    int spin;                        /* SHMEM_SPIN: polls before a wait yields, -1 = automatic */
    const char *coll_table;          /* SHMEM_COLL_TABLE */
    int isa;                         /* SHMEM_ISA, enum stp_isa */
    int pmi;                         /* SHMEM_PMI, enum stp_env_pmi */
    const char *launcher;            /* SHMEM_LAUNCHER, read by oshrun */
    bool resolve;                    /* SHMEM_RESOLVE, read by oshrun */
    const char *ofi_provider;        /* SHMEM_OFI_PROVIDER */
    const char *ofi_fabric;          /* SHMEM_OFI_FABRIC */
    const char *ofi_domain;          /* SHMEM_OFI_DOMAIN */
    const char *ofi_interface; /* SHMEM_OFI_INTERFACE: names or subnets, separated by commas */
    size_t ofi_bounce_size;    /* SHMEM_OFI_BOUNCE_SIZE: size of the largest put that is copied */
    int ofi_endpoints;
    bool ofi_progress_thread; /* SHMEM_OFI_PROGRESS_THREAD */
    int peer_timeout;         /* SHMEM_PEER_TIMEOUT in seconds, 0 = never */
    int hang_report;          /* SHMEM_HANG_REPORT in seconds, 0 = never */
    bool spaces_table;        /* SHMEM_SPACES_TABLE: PE 0 prints the table at creation */
    int default_space;        /* SHMEM_DEFAULT_SPACE: device type of the default space */
    bool kind_enabled[STP_N_DEVICE_TYPES]; /* SHMEM_ENABLE_<KIND>: create a space at init */
    size_t kind_size[STP_N_DEVICE_TYPES];  /* SHMEM_<KIND>_SYMMETRIC_SIZE in bytes per PE */
    bool gpu;                              /* SHMEM_GPU: search for GPUs */
    int gpu_device;       /* SHMEM_GPU_DEVICE: ordinal of the GPU, -1 = by locality */
    bool gpu_ipc;         /* SHMEM_GPU_IPC: map GPU memory of other PEs of the node */
    int stream_waits;     /* SHMEM_STREAM_WAITS: number of streams that may wait at once */
    bool gpu_reduce;      /* SHMEM_GPU_REDUCE: use kernels if they reach all the data */
    bool pin_heap;        /* SHMEM_PIN_HEAP: let GPUs access the default heap */
    const char *fam_path; /* SHMEM_FAM_PATH: directory, file or DAX device */
};

struct stp_env_row {
    const char *name;  /* SHMEM_... */
    const char *alias; /* older name in the standard, or NULL; name wins if both are set */
    enum stp_env_kind kind;
    size_t offset;            /* offset of the value in struct stp_env */
    const char *fallback;     /* default as text, or NULL for unset */
    const char *const *words; /* accepted words of STP_ENV_CHOICE, NULL-terminated */
    const char *help;         /* one line of help text */
};

extern struct stp_env stp_env;
extern const struct stp_env_row stp_env_table[];
extern const size_t stp_env_n_rows;

/*
 * Reads every variable into stp_env. Returns 0, or -EINVAL if a value is wrong. Logs each wrong
 * value with the name of its variable and a description of the accepted values.
 */
int stp_env_load(void);

/*
 * Parses a size as the standard defines SHMEM_SYMMETRIC_SIZE: a decimal integer or floating-point
 * number and optionally one of the letters k m g t in either case (binary factors). Text after the
 * letter is ignored. The size is rounded up to whole bytes, in the same way in any locale. Returns
 * 0 and sets *bytes, or returns -EINVAL (empty, negative, nan, inf, hexadecimal, other text after
 * the number), -ERANGE (above SIZE_MAX) or -ENOMEM. Spec 1.6, chapter 8.
 */
int stp_env_parse_size(const char *text, size_t *bytes);

/*
 * Finds the next environment variable with the prefix SHMEM_ or SMA_ that is not a known variable.
 * *at must be 0 before the first call; each call advances *at. Copies the variable's name, cut to
 * len, to name. Returns the nearest known name, "" if no name is near, or NULL at the end.
 */
const char *stp_env_unknown(size_t *at, char *name, size_t len);

/* Logs a warning for each variable that stp_env_unknown() finds. */
void stp_env_warn_unknown(void);

/* Writes the value of a row as readable text to buf, at most len bytes. Returns buf. */
const char *stp_env_format(const struct stp_env_row *row, char *buf, size_t len);

/* Writes a size in the syntax of variables, with the largest unit without a remainder: "512m". */
void stp_env_format_size(size_t bytes, char *buf, size_t len);

/* Returns true if the variable of the row or its alias is set in the environment. */
bool stp_env_is_set(const struct stp_env_row *row);

/* ---- text and hashes ------------------------------------------------------ */

#define STP_SIZE_TEXT 32 /* size of the buffer for a size as text */

/* Writes a size with four digits ("1.5 GiB"), or "unlimited" for SIZE_MAX. Returns text. */
const char *stp_size_text(size_t nbytes, char text[STP_SIZE_TEXT]);

/* Writes a size without rounding ("1536 MiB"). Returns text. */
const char *stp_size_exact(size_t nbytes, char text[STP_SIZE_TEXT]);

/* Returns true if the list contains word. A comma and any number of spaces separate its words. */
bool stp_words_have(const char *list, const char *word);

/*
 * Returns the number after key at the start of a line, from the first such line of the file, or
 * SIZE_MAX if no line matches. An empty key matches every line.
 */
size_t stp_file_number(const char *path, const char *key);

/*
 * Returns the state of a process or thread ('R', 'S', 'T' and so on) from its stat file in /proc,
 * or 0 if the file cannot be read. Allocates no memory.
 */
char stp_stat_state(const char *path);

/* Returns the index of value in an array of n ascending values, or -1 if value is absent. */
int stp_ascending_find(const int *values, int n, int value);

/* List of PEs as text ("0-3, 5"). PEs are appended in ascending order; the last may be repeated. */
struct stp_pe_list {
    char text[1024];
    size_t len;
    int first, last; /* range not yet in text; start with first = -1 */
};

void stp_pe_list_append(struct stp_pe_list *list, int pe);
void stp_pe_list_end(struct stp_pe_list *list);

#define STP_HASH_EMPTY 0xcbf29ce484222325u /* hash of zero bytes (FNV-1a) */

/* Returns the hash of the data that is already in hash, followed by nbytes of data. */
uint64_t stp_hash(uint64_t hash, const void *data, size_t nbytes);

/* ---- cores (cores_and_spin.c) -------------------------------------------------------- */

#define STP_CORES_MAX 1024

/* Set of cores, by their numbers on this host. */
struct stp_cores {
    uint64_t bits[STP_CORES_MAX / 64];
};

/* Sets *cores to the cores of the calling thread, or to all cores if the system reports none. */
void stp_cores_mine(struct stp_cores *cores);
void stp_cores_add(struct stp_cores *cores, const struct stp_cores *more);
int stp_cores_count(const struct stp_cores *cores);

/* ---- clock and waiting -------------------------------------------------- */

/* Returns the monotonic time in nanoseconds. */
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
    /* Constrains only the compiler, so that a loop around this function reads memory again. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * Sets the number of polls before a wait yields (cores_and_spin.c). If polls is negative, the
 * number depends on whether the host has a core for each PE. If the host has too few cores, long
 * waits also sleep: see stp_yield_or_sleep().
 */
void stp_wait_choose(int polls, bool enough_cores);

extern int stp_wait_spin;     /* polls before a wait yields; set at init */
extern int stp_wait_sleep_ms; /* longest sleep of a wait, at most 1000; set at init */

struct stp_wait_subject;

/* Functions that any thread calls during waits that last. */
struct stp_wait_hooks {
    void (*look)(void); /* checks the peers; limits the rate of its own checks */
    /* Publishes the subject as stp_wait_publish_subject() in wait_state_page.h describes. */
    void (*show)(const struct stp_wait_subject *subject);
};
extern const struct stp_wait_hooks *stp_wait_hook; /* hooks of all waits, or NULL */

/* Calls the look() hook. Threads of the library do so while the program or a device waits. */
void stp_wait_run_hook(void);

/*
 * stp_sleep_on() sleeps while *word, which processes may share, equals seen, for at most
 * stp_wait_sleep_ms. stp_sleep_on() may return early, so the caller checks its condition again.
 * Returns false if no thread woke the caller. stp_wait_sleep() also calls the look() hook in that
 * case. stp_wake() wakes up to n sleeping threads.
 */
bool stp_sleep_on(const uint32_t *word, uint32_t seen);
void stp_wake(const uint32_t *word, int n);
void stp_wait_sleep(const uint32_t *word, uint32_t seen);

/*
 * Lets another thread run. turns: turns of the caller's wait so far, or 0 if the caller does not
 * count them. Once in 1024 calls of a thread the function sleeps for about 50 us instead of
 * yielding. It sleeps at every call if turns is at least stp_yield_turns, which is
 * STP_YIELD_CROWDED if PEs share cores and UINT_MAX otherwise. Returns true once in 1024 calls;
 * stp_yield_and_watch_peers() then calls stp_wait_run_hook().
 */
#define STP_YIELD_CROWDED 256
extern unsigned stp_yield_turns;
bool stp_yield_or_sleep(unsigned turns);
void stp_yield_and_watch_peers(unsigned turns);

/* State of one wait, starting with {0}. The wait spins stp_wait_spin times and then yields. */
struct stp_wait {
    int polls;
    unsigned turns; /* turns of the loop so far (wait_state_page.h, stp_yield_or_sleep()) */
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
 * Starts a thread of the library, which takes no signals except faults. name: at most 15 characters
 * with static lifetime. Returns 0 or -errno; -EAGAIN if no more threads are available.
 */
int stp_thread_start(pthread_t *thread, const char *name, void *(*main)(void *));

/*
 * Ends this process with status 0 if all threads of the program have ended, as would happen without
 * the library. Each thread of the library calls this function about once a second.
 */
void stp_process_exit_if_program_over(void);

/* Returns the number of threads that the library did not start, or -1 if it is unknown. */
int stp_thread_count_program(void);

/* ---- element types ------------------------------------------------------ */

/* Element types by representation: C types with equal bits (long, int64_t) are one datatype. */
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

/* Expands to the datatype of a C type, as an integer constant expression. */
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

/* Returns true if the standard has this reduction: no bitwise on floats, no order on complex. */
bool stp_op_valid(enum stp_op op, enum stp_dtype dtype);

/*
 * Computes inout[i] = inout[i] op in[i] for nelems elements. Integers wrap in their own width. The
 * arrays are identical or disjoint. Requires stp_op_valid(op, dtype).
 */
void stp_op_reduce(enum stp_op op, enum stp_dtype dtype, void *inout, const void *in,
                   size_t nelems);

/*
 * Computes to[i] = also[i] = x[i] op y[i] in one pass. Each of to and also is identical to x, to y
 * or to the other destination, or overlaps no other array.
 */
void stp_op_combine(enum stp_op op, enum stp_dtype dtype, void *to, void *also, const void *x,
                    const void *y, size_t nelems);

/* Levels of vector instructions for reductions, ascending. All levels give the same bits. */
enum stp_isa { STP_ISA_AUTO, STP_ISA_BASE, STP_ISA_AVX2, STP_ISA_AVX512 };

/* Returns the highest level that this processor supports. */
enum stp_isa stp_isa_best(void);

/*
 * Selects the level of later reductions. Returns false if the processor does not support isa. No
 * reduction may run during the call.
 */
bool stp_isa_choose(enum stp_isa isa);

#endif /* STP_BASE_H */
