/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file implements init and finalize with their reference count, and all ways in which a PE
 * exits. It also defines the order in which the parts of the library start and stop.
 */
#include "coll/coll.h"
#include "diag/crash.h"
#include "diag/hang.h"
#include "gpu/device_handle_host_side.h"
#include "pmi/pmi.h"
#include "pshmem.h"
#include "rma/rma.h"
#include "init_finalize_lock.h"
#include "space/space_lifecycle.h"
#include "gpu/stream_engine.h"
#include "team/team_lifecycle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds after which shmem_global_exit() ends the job, even if exit handlers still run. */
#define HANDLERS_S 5

static pthread_mutex_t runtime_lifecycle = PTHREAD_MUTEX_INITIALIZER; /* guards init and finalize */
static _Thread_local bool runtime_in_finalize; /* whether this thread is in shmem_finalize */
static struct stp_alive_fd runtime_witness = {.fd = -1};
static pid_t runtime_pid;     /* process ID of the PE; a forked child process has a different ID */
static bool runtime_starting; /* whether a thread is in shmem_init */

void stp_init_finalize_lock(void)
{
    pthread_mutex_lock(&runtime_lifecycle);
}

void stp_init_finalize_unlock(void)
{
    pthread_mutex_unlock(&runtime_lifecycle);
}

/* Informs all PEs and the launcher that the job ends, and ends this process. */
static _Noreturn void runtime_abort(int status, const char *message)
{
    stp_fabric_remove_files(true);
    stp_peer_tell_job_end(status);
    stp_pmi_abort(status, message);
}

/*
 * Ends the job after a fatal error. Informs the launcher even if the program has not yet called
 * init. Otherwise mpiexec may end before it has printed the last output of this process.
 */
static void runtime_end_job(int status)
{
    struct stp_pmi_info info;

    if (runtime_pid != 0 && getpid() != runtime_pid) _exit(status);
    stp_stream_release_all_waits();
    if (stp_pmi_open(&info) != 0) { /* does nothing if PMI is already open */
        stp_boot_tell_oshrun(STP_STAGE_ABORT);
        _exit(status);
    }
    runtime_abort(status, "fatal error");
}

/*
 * Exit status and message with which runtime_end_now() ends the job. A signal handler also calls
 * that function if a flush or an exit handler takes too long.
 */
static struct {
    int status;
    const char *message;
} runtime_ending;

static _Noreturn void runtime_end_now(void)
{
    runtime_abort(runtime_ending.status, runtime_ending.message);
}

/*
 * Flushes the stdio streams and ends the job. The flush waits for the lock of each stream. A thread
 * that reads from a terminal or a pipe may hold such a lock for a long time. In this case the job
 * ends without the flush.
 */
static _Noreturn void runtime_flush_and_end(void)
{
    stp_flush_stdio_before_exit(runtime_end_now);
    runtime_end_now();
}

static bool runtime_exit_finalize(void);

static void runtime_exit_late(void)
{
    _exit(EXIT_SUCCESS);
}

/*
 * Ends the process in the last exit handler. Other threads may still be in the library or in
 * libfabric, so _exit() skips the destructors of both.
 */
static _Noreturn void runtime_end_beside_threads(void)
{
    stp_fabric_remove_files(true);
    stp_flush_stdio_before_exit(runtime_exit_late);
    _exit(EXIT_SUCCESS);
}

/* ---- global_exit ------------------------------------------------------------------- */

/*
 * State of shmem_global_exit(). The routine calls exit(), which runs exit handlers and destructors
 * and flushes the streams of C and C++. The exit handler of the library was registered when the
 * library was loaded. Therefore this handler runs last, and it ends the job.
 */
static struct {
    bool begun;
    bool with_threads; /* whether the PE finalized in exit() while other threads ran */
    pthread_t thread;
} runtime_leave;

static bool runtime_is_leaving(void)
{
    /* Pairs with the exchange in shmem_global_exit(). */
    return __atomic_load_n(&runtime_leave.begun, __ATOMIC_SEQ_CST);
}

static void runtime_end_leave(void)
{
    /* Pairs with the store in runtime_stop_beside_threads(). */
    if (__atomic_load_n(&runtime_leave.with_threads, __ATOMIC_SEQ_CST) && getpid() == runtime_pid)
        runtime_end_beside_threads();
    if (runtime_is_leaving() && getpid() == runtime_pid) runtime_flush_and_end();
}

#define KIND_DECLARE(NAME, name) extern const struct stp_kind stp_kind_##name;
#define KIND_REGISTER(NAME, name) stp_kind_register(&stp_kind_##name);

STP_KINDS(KIND_DECLARE)

/*
 * Occupies the standard descriptors that are closed. Otherwise the file of a heap could get the
 * number of the standard output, and the program's output would overwrite the heap. A write to an
 * occupied descriptor fails with EBADF, as with a closed descriptor.
 */
static void runtime_occupy_standard_fds(void)
{
    int fd;

    do
        fd = open("/", O_PATH | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

/*
 * Prepares the library at load time, so that it can report wrong calls even before init. In a
 * static link, this function runs before the constructors of the program. The exit handler that it
 * registers thus runs after the destructors of the program.
 */
static __attribute__((constructor(101))) void runtime_load(void)
{
    runtime_occupy_standard_fds();
    STP_KINDS(KIND_REGISTER)
    stp_fatal_hook(runtime_end_job);
    atexit(runtime_end_leave);
}

void pshmem_global_exit(int status)
{
    if (getpid() != runtime_pid) {
        fflush(NULL);
        _exit(status);
    }
    /*
     * Pairs with the same exchange in other threads. The thread that makes the first exchange ends
     * the job.
     */
    if (__atomic_exchange_n(&runtime_leave.begun, true, __ATOMIC_SEQ_CST)) {
        /* The first thread gets here again if an exit handler calls this routine. */
        if (pthread_equal(runtime_leave.thread, pthread_self())) runtime_end_leave();
        for (;;)
            pause(); /* the first thread ends the process */
    }
    runtime_leave.thread = pthread_self();
    runtime_ending.status = status;
    runtime_ending.message = "shmem_global_exit";
    stp_pmi_will_abort();
    if (!stp_pmi_keeps_status())
        stp_error(
            "shmem_global_exit(%d): the launcher will report an exit status of its own instead of "
            "this status",
            status);
    stp_deadline(HANDLERS_S, runtime_end_now);
    stp_stream_release_all_waits();
    /* Stop the threads that use devices before the exit handlers of device libraries run. */
    (void)stp_stage_server_try_stop_on_abort();
    (void)stp_device_handles_try_stop();
    exit(status);
}
STP_PROFILED(shmem_global_exit);

/*
 * Handles an exit of a program that has not called shmem_finalize(). If the status is 0, the PE
 * finalizes now. Finalizing also notifies the other PEs, because they may be waiting for this PE in
 * collectives. If the status is not 0, the PE has failed. The job then ends, because other PEs may
 * wait forever for this PE.
 */
static void runtime_at_exit(int status, void *arg)
{
    /* Pairs with the stores in runtime_start() and pshmem_init_thread(). */
    bool starting = __atomic_load_n(&runtime_starting, __ATOMIC_SEQ_CST);

    (void)arg;
    if (getpid() != runtime_pid || runtime_is_leaving()) return;
    if (!starting && stp_references() == 0) return;
    if (!starting && status == 0 && runtime_exit_finalize()) return;
    stp_fatal_silence_others();
    stp_error(
        starting
            ? "the program exits with status %d during shmem_init: the library ends the job"
            : "the program exits with status %d before shmem_finalize: the library ends the job",
        status & 0xff);
    runtime_ending.status = status != 0 ? status : EXIT_FAILURE;
    runtime_ending.message = "exit before shmem_finalize";
    runtime_flush_and_end();
}

#ifdef __GLIBC__
static void runtime_register_exit(void)
{
    on_exit(runtime_at_exit, NULL);
}
#else
/* Other C libraries do not pass the status, so every exit is handled as one with status 0. */
static void runtime_at_any_exit(void)
{
    runtime_at_exit(0, NULL);
}

static void runtime_register_exit(void)
{
    atexit(runtime_at_any_exit);
}
#endif

/*
 * Opens the witness file, by which peers check that this process is alive. Without this file, peers
 * check only the process ID.
 */
static void runtime_open_witness(void)
{
    int rc = stp_alive_memfd_create(&runtime_witness);

    if (rc != 0)
        stp_debug("start: cannot create the file by which peers see that this process "
                  "is alive: %s",
                  strerror(-rc));
}

static void runtime_fill_pe_info(struct stp_pe_info *pe_info)
{
    struct stp_settings *settings = &pe_info->settings;

    pe_info->pe = stp_rt.pe;
    pe_info->pid = getpid();
    pe_info->witness = runtime_witness;
    pe_info->segment_fd = stp_data_segment.fd;
    stp_cores_mine(&pe_info->cores);
    pe_info->window_base = stp_win.base;
    settings->layout = stp_data_segment.layout;
    settings->globals = stp_data_segment.shape;
    settings->n_globals = stp_data_segment.n_parts;
    settings->window_bytes = stp_window_reserved_bytes();
    snprintf(settings->program, sizeof(settings->program), "%s", program_invocation_short_name);
    if (!stp_rt.has_fabric) return;
    snprintf(settings->provider, sizeof(settings->provider), "%s", stp_rt.fabric.provider);
    settings->addr_len = (uint32_t)stp_rt.fabric.addr_len;
    settings->peer_table = stp_rt.fabric.peer_table;
    settings->dialect = stp_rt.fabric.dialect;
    settings->abi = stp_rt.fabric.abi;
    settings->libfabric = stp_rt.fabric.libfabric;
    memcpy(pe_info->addr, stp_rt.fabric.addr, stp_rt.fabric.addr_len);
}

/*
 * Passes the addresses of all PEs to the fabric module. Then passes the descriptors of the regions
 * that exist at this time. Fatal if one of these calls fails.
 */
static void runtime_connect(void)
{
    int rc = stp_rt.fabric.connect(stp_boot_addrs());

    for (unsigned number = 0; number < STP_SPACE_FIRST_USER && rc == 0; number++)
        if (stp_space_at(number) != NULL && stp_space_at(number)->registered)
            rc = stp_rt.fabric.region_peers(number, stp_boot_regions(number));
    if (rc != 0)
        stp_fatal("shmem_init", "cannot connect to the PEs of the job: %s", stp_errno_text(-rc));
}

static void runtime_print_banner(void)
{
    if (stp_rt.pe != 0) return;
    stp_env_warn();
    if (stp_env.version)
        fprintf(stderr, "%s (OpenSHMEM %d.%d)\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION,
                SHMEM_MINOR_VERSION);
    if (stp_env.info) pshmemx_info_print(STDERR_FILENO, "environment", 0);
}

static void runtime_forget_ctx(struct stp_ctx *ctx)
{
    ctx->live = false;
    ctx->copies = true; /* so that fence and quiet call stp_copy_flush(), which checks the child */
}

static void runtime_forget_ctxs(struct stp_team *team)
{
    for (struct stp_ctx *ctx = team->ctxs; ctx != NULL; ctx = ctx->next)
        runtime_forget_ctx(ctx);
}

/*
 * Runs in a forked child, which is not a PE. Empties the data that the inlined path reads. All
 * operations then take the slow path, which checks for a child because stp_rt.check is set.
 */
static void runtime_forked(void)
{
    stp_rt.forked = stp_rt.check = true;
    /* Pairs with the load in stp_references(). */
    __atomic_store_n(&stp_rt.references, 0, __ATOMIC_SEQ_CST);
    stp_window_set_peers(stp_win.first_pe, 0);
    stp_window_set_fabric(true); /* so that inlined fences call the library */
    runtime_forget_ctx(&stp_ctx_default);
    stp_team_forget_all_in_child(runtime_forget_ctxs);
}

static void runtime_start(void)
{
    static const struct stp_fabric_callbacks calls = {
        stp_stage_server_wake_if_asked, stp_peer_relay_closing_or_job_end,
        stp_hang_publish_fabric_wait_if_due, stp_kinds_dmabuf};
    static const struct stp_wait_hooks hooks = {stp_peer_check, stp_hang_publish_wait};
    struct stp_pe_info pe_info = {0};
    const void *bcast;
    size_t nbytes;
    bool first = runtime_pid == 0;

    runtime_pid = getpid();
    stp_boot_tell_oshrun(STP_STAGE_ENTERED);
    if (stp_env_load() != 0)
        stp_fatal("shmem_init", "environment variables have wrong values (see the messages above)");
    if (!stp_isa_choose((enum stp_isa)stp_env.isa))
        stp_fatal("shmem_init", "SHMEM_ISA selects vector instructions that this processor does "
                                "not have: set SHMEM_ISA=auto");
    stp_rt.check = stp_env.check;
    stp_rt.epoch++;
    runtime_open_witness(); /* peers need the witness as soon as this PE has joined */
    /* Pairs with the load in runtime_at_exit(), which another thread may execute. */
    __atomic_store_n(&runtime_starting, true, __ATOMIC_SEQ_CST);
    stp_boot_join_job();
    /*
     * The exit handler of the launcher's library is registered by now. Handlers run in reverse
     * order, so the handler of this library runs first.
     */
    if (first) runtime_register_exit();
    stp_boot_tell_oshrun(STP_STAGE_BEGUN);
    stp_boot_open_window();
    /* The fork handlers of a child run in this order: those of the data segment are the first. */
    if (first && pthread_atfork(NULL, NULL, runtime_forked) != 0)
        stp_fatal("shmem_init", "out of memory: cannot register a fork handler");
    runtime_print_banner();
    stp_kinds_find_devices(); /* from now on, buffers in device memory are recognized */
    stp_fabric_module_open(&calls);
    stp_window_set_fabric(stp_rt.has_fabric);
    stp_space_make_internal_data_heap(&pe_info, stp_stream_on_space_change);
    runtime_fill_pe_info(&pe_info);
    bcast = stp_coll_table_read(&nbytes);
    stp_boot_exchange(&pe_info, bcast, nbytes);
    bcast = stp_boot_bcast_data(&nbytes);
    stp_coll_table_install(bcast, nbytes);
    stp_wait_choose(stp_env.spin, stp_rt.host_pes <= stp_rt.host_cores);
    stp_fabric_set_host_cores();
    stp_peer_checks_enable();
    stp_wait_state_start(stp_boot_wait_state_page(stp_local_of(stp_rt.pe)),
                         stp_boot_hang_reported());
    /* Pairs with the acquire loads in stp_wait_run_hook() and stp_wait_publish_subject(). */
    __atomic_store_n(&stp_wait_hook, &hooks, __ATOMIC_RELEASE);
    stp_space_attach();
    if (stp_rt.has_fabric) runtime_connect();
    stp_boot_free_region_tables();
    stp_team_init();
    stp_ctx_init();
    stp_space_finish_heap_setup();
    stp_crash_install();
    stp_coll_sync(stp_team_world);
    stp_fabric_remove_files(false);
    stp_space_create_env();
    stp_debug("start: PE %d of %d, heap of %zu bytes, fabric: %s", stp_rt.pe, stp_rt.n_pes,
              stp_env.symmetric.size, stp_rt.has_fabric ? stp_rt.fabric.provider : "none");
}

/* Completes this PE's operations, and waits for the other PEs at the end of the job. */
static void runtime_meet_at_job_end(enum stp_pe_exit exit_kind)
{
    stp_quiet(&stp_ctx_default);
    stp_peer_meet_at_job_end(exit_kind, stp_coll_job_end_find_least);
    __atomic_store_n(&stp_rt.stopping, true, __ATOMIC_RELAXED);
}

/*
 * Performs the last syncs of the job and completes their messages. No other operation of the job is
 * in progress by now.
 */
static void runtime_last_syncs(void)
{
    if (stp_rt.has_fabric) stp_rt.fabric.finish();
    if (stp_rt.n_nodes > 1) stp_team_last_sync(stp_team_world);
    stp_quiet(&stp_ctx_coll);
    stp_quiet(&stp_ctx_small);
    /* In a job on one node, this barrier is the last sync. PEs may sleep in this barrier. */
    stp_boot_node_barrier();
    stp_wait_state_stop();
    stp_peer_checks_disable();
}

static void runtime_stop(enum stp_pe_exit exit_kind)
{
    runtime_meet_at_job_end(exit_kind);
    stp_crash_remove();
    stp_device_handles_stop_and_free();
    stp_stream_stop();
    stp_team_destroy_ctxs();
    stp_ctx_close(&stp_ctx_default);
    stp_ctx_internal_quiet();
    stp_coll_sync(stp_team_world); /* after this, the operations of all PEs are complete */
    stp_stage_server_stop();
    stp_ctx_close_internal_copy_queues();
    stp_space_detach_all();
    runtime_last_syncs();
    stp_locks_forget();
    stp_active_set_forget(NULL, SIZE_MAX); /* forgets all active sets */
    stp_team_fini();
    stp_bounce_fini();
    stp_stage_fini();
    stp_ctx_internal_fini();
    stp_device_mr_fini();
    stp_fabric_close(); /* until this call, the fabric's thread may read the internal space */
    stp_window_stop_reprotecting();
    stp_space_fini();
    stp_kinds_stop();
    stp_rt.remote_flush = false;
    stp_data_segment_reset_peer_maps();
    stp_window_close();
    stp_boot_close_node_area();
    stp_boot_tell_oshrun(STP_STAGE_DONE);
    __atomic_store_n(&stp_rt.stopping, false, __ATOMIC_RELAXED);
}

/*
 * Finalizes at an exit while other threads of the program still run. Frees nothing, unlike
 * runtime_stop(), because these threads may be in a routine of the library. The kernel frees
 * everything when the process ends.
 */
static void runtime_stop_beside_threads(void)
{
    runtime_meet_at_job_end(STP_PE_EXIT_EXIT);
    stp_coll_sync(stp_team_world);
    runtime_last_syncs();
    stp_boot_node_barrier(); /* other PEs enter this barrier in stp_boot_close_node_area() */
    stp_boot_tell_oshrun(STP_STAGE_DONE);
    /* Pairs with the load in runtime_end_leave(). */
    __atomic_store_n(&runtime_leave.with_threads, true, __ATOMIC_SEQ_CST);
}

/*
 * Finalizes in an exit handler. Returns false if a signal handler has called exit() while this
 * thread was in shmem_finalize and held the lock.
 */
static bool runtime_exit_finalize(void)
{
    if (runtime_in_finalize) return false;
    pthread_mutex_lock(&runtime_lifecycle);
    if (stp_references() > 0 && stp_thread_count_program() > 1) {
        runtime_stop_beside_threads();
    } else if (stp_references() > 0) {
        runtime_stop(STP_PE_EXIT_EXIT);
        /* Pairs with the load in stp_references(). */
        __atomic_store_n(&stp_rt.references, 0, __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&runtime_lifecycle);
    return true;
}

/* ---- init and finalize ------------------------------------------------------------- */

int pshmem_init_thread(int requested, int *provided)
{
    stp_check_not_forked(__func__);
    if (requested < SHMEM_THREAD_SINGLE) requested = SHMEM_THREAD_SINGLE;
    if (requested > SHMEM_THREAD_MULTIPLE) requested = SHMEM_THREAD_MULTIPLE;
    pthread_mutex_lock(&runtime_lifecycle);
    /* A later call may raise the thread level, because the library always supports all levels. */
    /* Pairs with the load in stp_thread_level(). */
    if (requested > stp_thread_level() || stp_references() == 0)
        __atomic_store_n(&stp_rt.thread_level, requested, __ATOMIC_SEQ_CST);
    if (stp_references() == 0) runtime_start();
    stp_fabric_set_threads();
    /* Pairs with the load in stp_references(). */
    __atomic_fetch_add(&stp_rt.references, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&runtime_starting, false, __ATOMIC_SEQ_CST);
    *provided = stp_thread_level();
    pthread_mutex_unlock(&runtime_lifecycle);
    return 0;
}
STP_PROFILED(shmem_init_thread);

void pshmem_init(void)
{
    int provided;

    pshmem_init_thread(SHMEM_THREAD_SINGLE, &provided);
}
STP_PROFILED(shmem_init);

void pshmem_finalize(void)
{
    static bool warned;
    bool last;

    stp_check_not_forked(__func__);
    if (runtime_pid != 0 && stp_references() == 0) {
        if (stp_rt.pe == 0 && !warned)
            stp_warn("shmem_finalize was called again after the last shmem_finalize, and did "
                     "nothing: call it once for each shmem_init");
        warned = true;
        return;
    }
    stp_check_live(__func__);
    /*
     * Do nothing in an exit handler after shmem_global_exit(), because other PEs do not finalize.
     */
    if (runtime_is_leaving() || runtime_in_finalize) return;
    runtime_in_finalize = true;
    pthread_mutex_lock(&runtime_lifecycle);
    last = stp_references() == 1;
    if (last) runtime_stop(STP_PE_EXIT_FINALIZE);
    /* Pairs with the load in stp_references(). */
    __atomic_fetch_sub(&stp_rt.references, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&runtime_lifecycle);
    runtime_in_finalize = false;
    if (!last) pshmem_barrier_all(); /* without the lock, so that other threads can call init */
}
STP_PROFILED(shmem_finalize);

void pshmem_query_initialized(int *initialized)
{
    *initialized = stp_references() > 0;
}
STP_PROFILED(shmem_query_initialized);

void pshmem_query_thread(int *provided)
{
    *provided = stp_thread_level();
}
STP_PROFILED(shmem_query_thread);

void pstart_pes(int npes)
{
    static bool started;

    (void)npes;
    if (started || stp_references() > 0) return;
    started = true;
    pshmem_init(); /* the library finalizes at exit if the program does not */
}
STP_PROFILED(start_pes);
