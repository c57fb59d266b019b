/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the lowest layer of Steppe, which all other parts use. The layer contains messages and
 * fatal errors, the table of environment variables, text and hashes, and sets of processor cores.
 * It also contains the clock, waits, the threads that the library starts, and the element types of
 * reductions. The functions use PE numbers only in messages. This header includes only headers of
 * libc.
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

/* Highest level of the messages that stp_log() prints. stp_log_identify() sets this level. */
extern int stp_log_level;

/*
 * Sets the PE number that messages contain, and the highest level of the messages that stp_log()
 * prints. Before the first call, messages contain the host name but no PE number. Only the thread
 * that initializes the library may call this function.
 * pe: number of this PE in the world, or -1 if this process is not a PE. With -1, messages contain
 * neither a PE number nor the host name.
 * level: highest level of the messages that are printed.
 */
void stp_log_identify(int pe, int level);

/*
 * Prints "steppe: pe 3 (host): <text>" to standard error if level is at most stp_log_level. Any
 * thread may call this function.
 */
void stp_log(int level, const char *fmt, ...) STP_PRINTF(2, 3);

/*
 * Name of the routine that creates or looks up a space in this thread, or NULL. stp_log() prints
 * this name before the text of errors, unless the text begins with this name. Warnings do not get
 * the name, because a hang report during the routine consists of warnings.
 */
extern _Thread_local const char *stp_log_routine;

/*
 * Prints "steppe: pe 3 (host): <routine>: <text>" and ends the whole job with status 1. To end the
 * job, calls the function that stp_fatal_hook() has set, or exit(1) if no function is set. If this
 * process is the PE, flushes all output streams after the message. A forked child of the PE does
 * not flush them.
 * routine: name of the public routine, or NULL. If the name is a profiling name, its leading "p" is
 * not printed.
 * The declaration has both _Noreturn and the attribute noreturn. Clang makes only the attribute a
 * part of the function's type.
 */
_Noreturn void stp_fatal(const char *routine, const char *fmt, ...) STP_PRINTF(2, 3) STP_COLD
    __attribute__((noreturn));

/*
 * Returns the name of a public routine as users write it. For a profiling name, such as
 * "pshmem_init", the result does not contain the leading "p".
 */
const char *stp_public_name(const char *routine);

/*
 * After this call, stp_fatal() prints nothing in other threads. It waits there for the end of this
 * process, at most 10 s. A thread whose fatal error came before this call is not affected.
 */
void stp_fatal_silence_others(void);

/*
 * Sets end_job(), the function with which stp_fatal() ends the job. stp_fatal() calls end_job()
 * only once and passes the exit status. end_job() must not return.
 * The call also records that the calling process is the PE. A forked child of this process is not
 * the PE, unless the child itself calls stp_log_identify().
 */
void stp_fatal_hook(void (*end_job)(int status));

/*
 * Calls on_timeout() after the given number of seconds, unless stp_deadline_end() is called first.
 * A handler of SIGALRM calls on_timeout(), in any thread of the process. on_timeout() must end the
 * process. Only a process that is about to end may call stp_deadline(), because the function
 * replaces the program's handler of SIGALRM. A signal handler may call stp_deadline().
 */
void stp_deadline(unsigned seconds, void (*on_timeout)(void));
/* Cancels the deadline that stp_deadline() has set. */
void stp_deadline_end(void);

/*
 * Flushes stdout, then stderr, and then all other streams. Only a process that is about to end may
 * call this function. If the flush takes longer than 2 s, a signal handler calls on_timeout(),
 * which must end the process; see stp_deadline(). A signal handler may call this function.
 */
void stp_flush_stdio_before_exit(void (*on_timeout)(void));

/*
 * Returns a text for an errno value. If a limit that users can raise has caused the error, the text
 * names the limit and advises users to raise it. Such limits are the number of open descriptors and
 * the size of a file. For other errors, the text is that of strerror(). The text is valid until
 * this thread calls the function again.
 */
const char *stp_errno_text(int error);

/*
 * Returns the soft limit of a resource (RLIMIT_...), or SIZE_MAX if the resource is unlimited. If
 * hard is not NULL, *hard is set to the hard limit in the same way.
 */
size_t stp_limit(int resource, size_t *hard);

/* Returns the number of open descriptors of this process, or -1 if the number is unknown. */
int stp_count_fds(void);

/*
 * Signal state of this thread, which stp_sigxfsz_block() saves and stp_sigxfsz_unblock() restores.
 * An operation that would make a file longer than ulimit -f allows fails with EFBIG and also raises
 * SIGXFSZ. Between the two calls, such an operation of this thread only fails with EFBIG. The
 * library must not raise SIGXFSZ, because the handler and the mask of this signal belong to the
 * program.
 */
struct stp_sigxfsz {
    sigset_t before; /* signal mask before stp_sigxfsz_block() */
    bool pending;    /* true if SIGXFSZ was already pending before stp_sigxfsz_block() */
};

void stp_sigxfsz_block(struct stp_sigxfsz *saved);
void stp_sigxfsz_unblock(const struct stp_sigxfsz *saved);

/* Sets the size of a file to nbytes by ftruncate(), with SIGXFSZ blocked. Returns 0 or -errno. */
int stp_file_resize(int fd, size_t nbytes);

/* Returns the name of this host as gethostname() reports it. The result is never NULL. */
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

/*
 * Kinds of environment variables. Each comment names the C type of the variable's field in struct
 * stp_env, and then the values that the variable accepts.
 */
enum stp_env_kind {
    STP_ENV_PRESENT, /* bool: true if the variable is set, even if its value is empty */
    STP_ENV_BOOL,    /* bool: on/off, yes/no, true/false, 1/0 */
    STP_ENV_INT,     /* int: -1 or greater */
    STP_ENV_COUNT,   /* int: 1 or greater */
    STP_ENV_SIZE,    /* size_t: number with an optional letter k m g t; see stp_env_parse_size() */
    STP_ENV_GROWTH,  /* struct stp_env_growth: one size, or two sizes separated by a colon */
    STP_ENV_STRING,  /* const char *: any text; the field is NULL if unset or empty */
    STP_ENV_CHOICE,  /* int: index of the value in the array words of struct stp_env_row */
};

/* Initial size and maximum size of memory. The two sizes are equal if the memory cannot grow. */
struct stp_env_growth {
    size_t size, max;
};

enum stp_env_pmi { STP_PMI_AUTO, STP_PMI_1, STP_PMI_2, STP_PMI_SINGLE, STP_PMI_X };

/*
 * Kinds of memory. The number of a kind is equal to the SHMEM_DEVICE_ constant of the same name,
 * and PEs send these numbers to each other. Each kind has a table of operations, such as
 * stp_kind_cpu or stp_kind_gpu. Design: docs/design/kinds.md.
 */
#define STP_KINDS(ROW) ROW(CPU, cpu) ROW(GPU, gpu) ROW(HBM, hbm) ROW(FAM, fam)

#define STP_KIND_TYPE(NAME, name) STP_DEVICE_##NAME,
enum stp_device_type { STP_KINDS(STP_KIND_TYPE) STP_N_DEVICE_TYPES };

/* Values of all environment variables, set by stp_env_load(). Each field has one row in env.c. */
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
    int spin;                 /* SHMEM_SPIN: number of polls before a wait yields, -1 = automatic */
    const char *coll_table;   /* SHMEM_COLL_TABLE */
    int isa;                  /* SHMEM_ISA, enum stp_isa */
    int pmi;                  /* SHMEM_PMI, enum stp_env_pmi */
    const char *launcher;     /* SHMEM_LAUNCHER, read by oshrun */
    const char *ofi_provider; /* SHMEM_OFI_PROVIDER */
    const char *ofi_fabric;   /* SHMEM_OFI_FABRIC */
    const char *ofi_domain;   /* SHMEM_OFI_DOMAIN */
    const char *ofi_interface; /* SHMEM_OFI_INTERFACE: names or subnets, separated by commas */
    size_t ofi_bounce_size;    /* SHMEM_OFI_BOUNCE_SIZE: largest put whose data is copied */
    int ofi_endpoints;
    bool ofi_progress_thread; /* SHMEM_OFI_PROGRESS_THREAD */
    int peer_timeout;         /* SHMEM_PEER_TIMEOUT in seconds, 0 = no timeout */
    int hang_report;          /* SHMEM_HANG_REPORT in seconds, 0 = no reports */
    bool spaces_table;        /* SHMEM_SPACES_TABLE: print all spaces after a space is created */
    int default_space;        /* SHMEM_DEFAULT_SPACE: device type of the default space */
    bool kind_enabled[STP_N_DEVICE_TYPES]; /* SHMEM_ENABLE_<KIND>: create the space at init */
    size_t kind_size[STP_N_DEVICE_TYPES];  /* SHMEM_<KIND>_SYMMETRIC_SIZE in bytes per PE */
    bool gpu;                              /* SHMEM_GPU: search for GPUs at init */
    int gpu_device;       /* SHMEM_GPU_DEVICE: ordinal of the GPU to use, -1 = automatic */
    bool gpu_ipc;         /* SHMEM_GPU_IPC: map GPU memory of other PEs of the node */
    int stream_waits;     /* SHMEM_STREAM_WAITS: number of streams that may wait at one time */
    bool gpu_reduce;      /* SHMEM_GPU_REDUCE: reduce in a kernel if one GPU reaches all data */
    bool pin_heap;        /* SHMEM_PIN_HEAP: pin the heap so that GPU kernels can access it */
    const char *fam_path; /* SHMEM_FAM_PATH: directory, file or DAX device */
};

/* Description of one environment variable. */
struct stp_env_row {
    const char *name; /* SHMEM_... */
    /*
     * Older name of the variable in the standard, or NULL. If both variables are set, the library
     * ignores the older one.
     */
    const char *alias;
    enum stp_env_kind kind;
    size_t offset;            /* offset of the variable's field in struct stp_env */
    const char *fallback;     /* default value as text, or NULL for a variable without a default */
    const char *const *words; /* accepted values of a STP_ENV_CHOICE, NULL-terminated */
    const char *help;         /* one line of help text */
};

extern struct stp_env stp_env;
extern const struct stp_env_row stp_env_table[];
extern const size_t stp_env_n_rows;

/*
 * Reads all variables of stp_env_table into stp_env. For each wrong value, logs the name of the
 * variable, the value and a description of the accepted values. Returns 0, or -EINVAL if the value
 * of any variable is wrong.
 */
int stp_env_load(void);

/*
 * Parses a size in the syntax that the standard defines for SHMEM_SYMMETRIC_SIZE (spec 1.6, chapter
 * 8). The text is a decimal integer or floating-point number. One of the letters k, m, g and t, in
 * either case, may follow the number. The letter multiplies the number by 2^10, 2^20, 2^30 or 2^40.
 * Any text after the letter is ignored. A size that is not a whole number of bytes is rounded up.
 * The result does not depend on the locale.
 * Returns 0 and sets *bytes. Returns -EINVAL if the text is empty, negative, nan, inf or
 * hexadecimal, or if the character after the number is not one of these letters. Returns -ERANGE if
 * the size is above SIZE_MAX. Returns -ENOMEM if there is not enough memory.
 */
int stp_env_parse_size(const char *text, size_t *bytes);

/* Returns the edit distance of `a`, which has a_len characters, and `b`, or 40 for long names. */
unsigned stp_name_distance(const char *a, size_t a_len, const char *b);

/*
 * Finds the next variable in the environment whose name begins with SHMEM_ or SMA_ but is unknown
 * to Steppe. Copies this name to the buffer name, which has len bytes.
 * position: position of the search in the environment. The caller sets *position to 0 before the
 * first call, and each call advances *position.
 * Returns the known name that is most similar to the unknown name, or "" if no known name is
 * similar. Returns NULL if there are no more unknown variables.
 */
const char *stp_env_unknown(size_t *position, char *name, size_t len);

/*
 * Logs a warning for each variable that stp_env_unknown() finds, and for each size that has ignored
 * text.
 */
void stp_env_warn(void);

/*
 * Writes the current value of the row's variable as text to buf, a buffer of len bytes. Returns
 * buf.
 */
const char *stp_env_format(const struct stp_env_row *row, char *buf, size_t len);

/*
 * Writes a size to buf in the syntax of stp_env_parse_size(), for example "512m". Uses the largest
 * unit that divides the size without a remainder.
 */
void stp_env_format_size(size_t bytes, char *buf, size_t len);

/*
 * Returns true if the environment contains the row's variable, under its name or under its alias.
 */
bool stp_env_is_set(const struct stp_env_row *row);

/* ---- text and hashes ------------------------------------------------------ */

#define STP_SIZE_TEXT 32 /* size of the buffers of stp_size_text() and stp_size_exact() */

/*
 * Writes the number nbytes, rounded to four digits and with a unit, to the buffer text, for example
 * "1.5 GiB". Writes "unlimited" if nbytes is SIZE_MAX. Returns text.
 */
const char *stp_size_text(size_t nbytes, char text[STP_SIZE_TEXT]);

/* Writes the reason of an error to a buffer of `size` bytes. Returns rc. */
int stp_reason(int rc, char *reason, size_t size, const char *fmt, ...) STP_PRINTF(4, 5);

/*
 * Writes the exact number nbytes, with a unit, to the buffer text, for example "1536 MiB". Returns
 * text.
 */
const char *stp_size_exact(size_t nbytes, char text[STP_SIZE_TEXT]);

/*
 * Returns true if `word` is one of the words in the string `list`. Commas separate the words, and
 * spaces may follow a comma.
 */
bool stp_words_have(const char *list, const char *word);

/*
 * Reads a number from a text file, such as /proc/meminfo. Finds the first line that begins with the
 * text in key, followed by a number, and returns this number. If key is empty, the line must begin
 * with a number. Returns SIZE_MAX if there is no such line or the file cannot be opened.
 */
size_t stp_file_number(const char *path, const char *key);

/*
 * Reads a file from its beginning into text, at most len - 1 bytes, and appends a null byte. The
 * text is empty if the file cannot be read. Returns the number of bytes. Uses no heap memory.
 */
size_t stp_file_read(const char *path, char *text, size_t len);

/* Returns true if a folder of PATH has an executable file with this name. */
bool stp_in_path(const char *name);

/*
 * Returns the state of a process or thread as a letter ('R', 'S', 'T' and so on), or 0 if the state
 * is unknown. Allocates no memory.
 * path: path of the file "stat" of the process or thread in /proc.
 */
char stp_stat_state(const char *path);

/*
 * Returns the index of value in the array values, whose n elements are in ascending order. Returns
 * -1 if the array does not contain value.
 */
int stp_ascending_find(const int *values, int n, int value);

/*
 * List of PEs as text, for example "0-3, 5". The caller initializes the list with first = -1 and
 * len = 0.
 */
struct stp_pe_list {
    char text[1024];
    size_t len;
    /*
     * First and last PE of the range that is not yet written to the field text. first is -1 if
     * there is no such range.
     */
    int first, last;
};

/*
 * Appends a PE to the list. The caller must append PEs in ascending order, and may repeat the last
 * PE.
 */
void stp_pe_list_append(struct stp_pe_list *list, int pe);
/* Writes the last range of PEs to the text, which is then complete. */
void stp_pe_list_end(struct stp_pe_list *list);

#define STP_HASH_EMPTY 0xcbf29ce484222325u /* hash of no data; argument of the first stp_hash() */

/*
 * Adds nbytes bytes of data to an FNV-1a hash. Returns the new hash.
 * hash: result of the call for the preceding data, or STP_HASH_EMPTY in the first call.
 */
uint64_t stp_hash(uint64_t hash, const void *data, size_t nbytes);

/* ---- cores (cores_and_spin.c) -------------------------------------------------------- */

#define STP_CORES_MAX 1024

/* Set of cores of this host, with one bit for each core number. */
struct stp_cores {
    uint64_t bits[STP_CORES_MAX / 64];
};

/*
 * Sets *cores to the set of cores on which the calling thread may run. If the system does not
 * report this set, *cores is set to all online cores.
 */
void stp_cores_mine(struct stp_cores *cores);
void stp_cores_add(struct stp_cores *cores, const struct stp_cores *added);
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
    /* Force the compiler to read memory again in each iteration of the caller's loop. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * Sets stp_wait_spin, the number of polls before a wait yields its core. If polls is negative, the
 * function chooses the number itself.
 * enough_cores: true if the host has at least one core for each of its PEs. If it is false, long
 * waits also sleep; see stp_yield_or_sleep().
 */
void stp_wait_choose(int polls, bool enough_cores);

extern int stp_wait_spin;     /* number of polls before a wait yields its core; set at init */
extern int stp_wait_sleep_ms; /* longest single sleep of a wait in ms, at most 1000 */

struct stp_wait_subject;

/*
 * Functions that a thread calls from time to time while it waits. Any thread may call these
 * functions.
 */
struct stp_wait_hooks {
    /*
     * Checks whether the launcher and the other PEs are alive. Does nothing if any thread of
     * this PE has made the check within the last 0.5 s.
     */
    void (*check_peers)(void);
    /*
     * Shows to the other PEs of the node the object for which this thread waits.
     * stp_wait_publish_subject() calls this function.
     */
    void (*show)(const struct stp_wait_subject *subject);
};
extern const struct stp_wait_hooks *stp_wait_hook; /* hooks of all waits, or NULL before init */

/*
 * Calls the check_peers() hook if hooks are set. The library's own threads call this function while
 * a device may wait for another PE. They also call it while a program thread may wait inside a
 * device driver, because a thread in a driver cannot call the hook.
 */
void stp_wait_run_hook(void);

/*
 * Puts this thread to sleep if *word equals expected. The sleep ends when another thread calls
 * stp_wake() for this word, or after stp_wait_sleep_ms. The sleep may also end earlier, so the
 * caller must check its condition again. Several processes may share the word. Returns true if
 * stp_wake() has ended the sleep, and false otherwise.
 */
bool stp_sleep_on(const uint32_t *word, uint32_t expected);
/* Wakes up to n threads that sleep in stp_sleep_on() or stp_wait_sleep() on this word. */
void stp_wake(const uint32_t *word, int n);
/*
 * Calls stp_sleep_on(). If stp_wake() has not ended the sleep, also calls the check_peers() hook.
 */
void stp_wait_sleep(const uint32_t *word, uint32_t expected);

/*
 * Number of turns after which stp_yield_or_sleep() sleeps at every call. A turn is one iteration of
 * a wait loop. The number is STP_YIELD_CROWDED if PEs share cores, and UINT_MAX otherwise.
 */
#define STP_YIELD_CROWDED 256
extern unsigned stp_yield_turns;

/*
 * Lets another thread run. Most calls yield the core by sched_yield(). Every 1024th call of a
 * thread sleeps for about 50 us instead. All calls with turns >= stp_yield_turns sleep, too.
 * Returns true at every 1024th call of a thread, and false at all other calls.
 * turns: number of turns (iterations) of the caller's wait loop so far. A caller that does not
 * count turns passes 0.
 */
bool stp_yield_or_sleep(unsigned turns);
/* Calls stp_yield_or_sleep(). If the result is true, also calls stp_wait_run_hook(). */
void stp_yield_and_watch_peers(unsigned turns);

/*
 * State of one wait. The caller initializes it with {0}. The wait does not yield during its first
 * stp_wait_spin polls. After each later poll, the wait yields its core.
 */
struct stp_wait {
    int polls;
    unsigned turns; /* number of iterations of the wait loop so far; see wait_state_page.h */
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
 * Starts a thread of the library. In this thread all signals are blocked, except the signals of
 * faults such as SIGSEGV.
 * name: name of the thread, at most 15 characters. The string must never be freed.
 * Returns 0 or -errno. Returns -EAGAIN if the library cannot start more threads.
 */
int stp_thread_start(pthread_t *thread, const char *name, void *(*main)(void *));

/*
 * Ends this process with status 0 if only threads of the library are left. A process ends by itself
 * when its last thread ends, but the library's threads would keep the process running. Each thread
 * of the library calls this function about once a second.
 */
void stp_process_exit_if_program_over(void);

/*
 * Returns the number of running threads that belong to the program, which are all threads that the
 * library did not start. Returns -1 if the number is unknown.
 */
int stp_thread_count_program(void);

/* ---- element types ------------------------------------------------------ */

/*
 * Element types. C types with the same representation, such as long and int64_t, have the same
 * element type.
 */
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

/* Expands to the element type (enum stp_dtype) of a C type, as an integer constant expression. */
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

/*
 * Returns true if the standard defines this operator for this type. The bitwise operators
 * are defined only for integers. max and min are defined for all types except complex types.
 */
bool stp_op_valid(enum stp_op op, enum stp_dtype dtype);

/*
 * Computes inoutvec[i] = inoutvec[i] op invec[i] for nelems elements. Integer results wrap around
 * on overflow. The two arrays must be identical or disjoint. stp_op_valid(op, dtype) must be true.
 */
void stp_op_reduce(enum stp_op op, enum stp_dtype dtype, void *inoutvec, const void *invec,
                   size_t nelems);

/*
 * Computes x[i] op y[i] for nelems elements, in one pass over the arrays. Stores each result both
 * in dest1[i] and in dest2[i]. Any two of the four arrays may be identical, but they must not
 * overlap partially.
 */
void stp_op_combine(enum stp_op op, enum stp_dtype dtype, void *dest1, void *dest2, const void *x,
                    const void *y, size_t nelems);

/*
 * Levels of vector instructions that reductions can use, in ascending order. The results of a
 * reduction are bitwise identical at all levels.
 */
enum stp_isa { STP_ISA_AUTO, STP_ISA_BASE, STP_ISA_AVX2, STP_ISA_AVX512 };

/* Returns the highest level that this processor supports. */
enum stp_isa stp_isa_best(void);

/*
 * Selects the level of vector instructions for later reductions. STP_ISA_AUTO selects the highest
 * supported level. Returns false if the processor does not support the level. No reduction may run
 * during the call.
 */
bool stp_isa_choose(enum stp_isa isa);

#endif /* STP_BASE_H */
