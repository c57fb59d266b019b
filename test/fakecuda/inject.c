/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: the begin and end of each call,
 * the counters of calls, and the errors that FAKECUDA_FAIL orders (README.md has the grammar).
 */
#include "fake.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RULES = 32 };

struct rule {
    enum fake_call call;
    long first; /* the first call that fails, from 1 */
    long last;
    CUresult result;
};

struct fake fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const call_names[FAKE_N_CALLS] = {
#define CALL_NAME(member, symbol, required, arguments) [FAKE_##symbol] = #symbol,
    STP_CUDA_FUNCTIONS(CALL_NAME)
#undef CALL_NAME
#define CALL_NAME(member, symbol, arguments) [FAKE_##symbol] = #symbol,
        FAKE_DRIVER_FUNCTIONS(CALL_NAME)
#undef CALL_NAME
};

static pthread_once_t configured = PTHREAD_ONCE_INIT;
static struct rule rules[MAX_RULES];
static int n_rules;
static long counts[FAKE_N_CALLS];
static uint64_t random_state;
static _Thread_local const char *running = "no call";
static _Thread_local bool in_host_function;

void fake_die(const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fprintf(stderr, "fakecuda: pid %d (rank %d): %s: %s\n", (int)getpid(), fake.rank, running,
            text);
    abort();
}

void fake_running(const char *what)
{
    running = what;
}

void fake_host_function(bool runs)
{
    in_host_function = runs;
    running = runs ? "a host function" : "no call";
}

const char *fake_env(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

uint64_t fake_random_locked(void)
{
    uint64_t x;

    if (random_state == 0 && getrandom(&random_state, sizeof(random_state), 0) < 0)
        random_state = fake_now_ns() ^ (uint64_t)getpid() << 32;
    random_state |= 1; /* xorshift never leaves zero */
    x = random_state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    random_state = x;
    return x >> 1;
}

uint64_t fake_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- the rules ---------------------------------------------------------- */

static int call_find(const char *name, size_t len)
{
    for (int i = 0; i < FAKE_N_CALLS; i++)
        if (strlen(call_names[i]) == len && memcmp(call_names[i], name, len) == 0) return i;
    return -1;
}

static long rule_number(const char **text, const char *whole)
{
    char *end;
    long value = strtol(*text, &end, 10);

    if (end == *text || value < 0) fake_die("FAKECUDA_FAIL: no number at '%s' in %s", *text, whole);
    *text = end;
    return value;
}

/* Parse "symbol[#rank][@n[+]]:result" and what follows it up to the next rule. */
static const char *rule_parse(const char *text, const char *whole)
{
    size_t len = strcspn(text, "#@:");
    int call = call_find(text, len);
    struct rule rule = {.first = 1, .last = LONG_MAX};
    long rank = fake.rank;

    if (call < 0)
        fake_die("FAKECUDA_FAIL: '%.*s' is not among the driver's symbols", (int)len, text);
    rule.call = (enum fake_call)call;
    text += len;
    if (*text == '#') {
        text++;
        rank = rule_number(&text, whole);
    }
    if (*text == '@') {
        text++;
        rule.first = rule.last = rule_number(&text, whole);
        if (*text == '+') {
            text++;
            rule.last = LONG_MAX;
        }
    }
    if (*text++ != ':') fake_die("FAKECUDA_FAIL: a rule of %s has no ':result'", whole);
    rule.result = (CUresult)rule_number(&text, whole);
    if (rank == fake.rank) {
        if (n_rules == MAX_RULES) fake_die("FAKECUDA_FAIL: more than %d rules", MAX_RULES);
        rules[n_rules++] = rule;
    }
    if (*text != '\0' && *text != ',') fake_die("FAKECUDA_FAIL: '%s' follows a rule", text);
    return *text == ',' ? text + 1 : text;
}

static void configure(void)
{
    const char *whole = fake_env("FAKECUDA_FAIL");
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&fake.changed, &attr);
    pthread_condattr_destroy(&attr);
    fake_devices_configure();
    for (const char *text = whole; text && *text;)
        text = rule_parse(text, whole);
}

static CUresult injected_locked(enum fake_call call)
{
    for (int i = 0; i < n_rules; i++)
        if (rules[i].call == call && counts[call] >= rules[i].first &&
            counts[call] <= rules[i].last)
            return rules[i].result;
    return CUDA_SUCCESS;
}

/* Faults of the device that end the context. */
static bool is_sticky(CUresult result)
{
    switch ((int)result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case 702: /* a kernel that ran too long */
    case 710: /* an assertion on the device */
    case 714: /* hardware stack, instruction, alignment, address space, program counter */
    case 715:
    case 716:
    case 717:
    case 718:
    case CUDA_ERROR_LAUNCH_FAILED:
        return true;
    default:
        return false;
    }
}

/* ---- calls ---------------------------------------------------------------- */

/* These the real driver answers before cuInit. */
static bool works_before_init(enum fake_call call)
{
    return call == FAKE_cuInit || call == FAKE_cuDriverGetVersion || call == FAKE_cuGetErrorName ||
           call == FAKE_cuGetErrorString;
}

/* Takes the lock unless the process may not use the driver; *result is the refusal on order. */
static CUresult enter(enum fake_call call, CUresult *result)
{
    running = call_names[call];
    if (in_host_function) fake_die("called by a host function, which may not use the driver");
    /* As with the real driver, what cuInit set up is of no use after a fork. */
    if (fake.pid != 0 && fake.pid != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
    pthread_once(&configured, configure);
    pthread_mutex_lock(&fake.lock);
    counts[call]++;
    *result = injected_locked(call);
    if (*result == CUDA_SUCCESS && fake.pid == 0 && !works_before_init(call))
        *result = CUDA_ERROR_NOT_INITIALIZED;
    return CUDA_SUCCESS;
}

CUresult fake_begin(enum fake_call call)
{
    CUresult refusal;
    CUresult result = enter(call, &refusal);
    CUcontext ctx;

    if (result != CUDA_SUCCESS) return result;
    if (refusal == CUDA_SUCCESS) return CUDA_SUCCESS;
    ctx = fake_ctx_current();
    if (is_sticky(refusal) && ctx && ctx->alive) ctx->lost = refusal;
    return fake_end(refusal);
}

static CUresult need_ctx_locked(CUcontext *ctx)
{
    *ctx = fake_ctx_current();
    if (!*ctx) return CUDA_ERROR_INVALID_CONTEXT;
    if (!(*ctx)->alive) fake_die("the current context %p was destroyed", (void *)*ctx);
    return (*ctx)->lost;
}

CUresult fake_begin_ctx(enum fake_call call, CUcontext *ctx)
{
    CUresult result = fake_begin(call);

    if (result != CUDA_SUCCESS) return result;
    result = need_ctx_locked(ctx);
    return result == CUDA_SUCCESS ? result : fake_end(result);
}

CUresult fake_begin_async(enum fake_call call, CUcontext *ctx, CUresult *fault)
{
    CUresult refusal;
    CUresult result = enter(call, &refusal);

    *fault = CUDA_SUCCESS;
    if (result != CUDA_SUCCESS) return result;
    if (is_sticky(refusal))
        *fault = refusal;
    else if (refusal != CUDA_SUCCESS)
        return fake_end(refusal);
    result = need_ctx_locked(ctx);
    return result == CUDA_SUCCESS ? result : fake_end(result);
}

CUresult fake_end(CUresult result)
{
    running = "no call";
    pthread_mutex_unlock(&fake.lock);
    return result;
}

/* ---- for tests -------------------------------------------------------------- */

long fakecuda_calls(const char *symbol)
{
    int call = call_find(symbol, strlen(symbol));
    long count = -1;

    pthread_mutex_lock(&fake.lock);
    if (call >= 0) count = counts[call];
    pthread_mutex_unlock(&fake.lock);
    return count;
}

long fakecuda_live(const char *what)
{
    static const char *const kinds[FAKE_N_KINDS] = {"alloc", "ipc",        "managed",
                                                    "host",  "registered", "mapped"};
    long count = -1;

    pthread_mutex_lock(&fake.lock);
    for (int i = 0; i < FAKE_N_KINDS; i++)
        if (strcmp(what, kinds[i]) == 0) count = fake_block_count_locked((enum fake_kind)i);
    if (strcmp(what, "stream") == 0) count = fake_stream_count_locked();
    if (strcmp(what, "ctx") == 0) count = fake_ctx_count_locked();
    if (strcmp(what, "stack") == 0) count = fake_ctx_depth();
    if (strcmp(what, "lost") == 0) count = fake.n_lost;
    if (strcmp(what, "module") == 0) count = fake_module_count_locked();
    if (strcmp(what, "reservation") == 0) count = fake_reservation_count_locked();
    if (strcmp(what, "physical") == 0) count = fake_physical_count_locked();
    pthread_mutex_unlock(&fake.lock);
    return count;
}
