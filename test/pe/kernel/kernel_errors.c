/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes one wrong call with a handle for kernels, on the last PE while the other PEs wait. Each
 * call must end the job with a message of the host. run_kernel_errors.sh checks the message and
 * the status, and that no process is left.
 *
 * usage: kernel_errors list | CALL | refused | stale | again | killed
 *   list     prints the name and a regular expression of the message of each call
 *   refused  checks wrong arguments of handle_create and handle_destroy, which return an error
 *   stale    destroys a copy of a destroyed handle
 *   again    uses a handle in three lives of the library and never destroys it
 *   killed   the last PE dies while the other PEs wait in a device routine
 */
#include "pe_test.h"

#include <shmemx.h>
#include <shmemx_device.h>

#include <signal.h>
#include <unistd.h>

static shmemx_device_handle_t handle;
static long *word;
static long *private; /* on the stack */

static const char *name; /* of the call to make; NULL: all are listed */

/* Returns whether this PE makes the call of this name, of which the host says text; or lists it. */
static bool wanted(const char *call, const char *text)
{
    if (name == NULL) printf("%s %s\n", call, text);
    return name != NULL && pe_me == pe_n - 1 && strcmp(name, call) == 0;
}

static void make_call(void)
{
    const size_t much = ((size_t)1 << 61) + 1; /* longs, of which bytes are 2^64 and 8 */
    const shmemx_device_handle_t *h = &handle;
    uint64_t *sig = (uint64_t *)word;

    if (wanted("put_private", "shmemx_dev_put: dest 0x[0-9a-f]+ is not symmetric"))
        shmemx_dev_long_put(h, private, private, 1, pe_me);
    if (wanted("get_private", "shmemx_dev_get: source 0x[0-9a-f]+ is not symmetric"))
        shmemx_dev_getmem(h, word, private, 8, pe_me);
    if (wanted("p_private", "shmemx_dev_p: dest 0x[0-9a-f]+ is not symmetric"))
        shmemx_dev_long_p(h, private, 1, pe_me);
    if (wanted("amo_private", "shmemx_dev_atomic: dest 0x[0-9a-f]+ is not symmetric"))
        (void)shmemx_dev_long_atomic_fetch_inc(h, private, pe_me);
    if (wanted("signal_private", "shmemx_dev_put_signal: sig_addr 0x[0-9a-f]+ is not symmetric"))
        shmemx_dev_putmem_signal(h, word, word + 1, 8, (uint64_t *)private, 1,
                                 SHMEMX_DEV_SIGNAL_SET, pe_me);
    if (wanted("put_beyond", "shmemx_dev_put: dest .*past the end of its space"))
        shmemx_dev_putmem(h, word, word, (size_t)1 << 40, pe_me);
    if (wanted("put_overflow", "shmemx_dev_put: dest .*past the end of its space"))
        shmemx_dev_long_put(h, word, word + 1, much, pe_me);
    if (wanted("get_overflow", "shmemx_dev_get: source .*past the end of its space"))
        shmemx_dev_short_get_nbi(h, (short *)word, (short *)(word + 1), ((size_t)1 << 63) + 1,
                                 pe_me);
    if (wanted("pe_number", "shmemx_dev_g: pe is [0-9]+: valid PE numbers .* 0..[0-9]+"))
        (void)shmemx_dev_long_g(h, word, pe_n);
    if (wanted("pe_negative", "shmemx_dev_put: pe is -1: valid PE numbers .* 0..[0-9]+"))
        shmemx_dev_long_put(h, word, word + 1, 1, -1);
    if (wanted("comparison", "shmemx_dev_wait_until: cmp is 7"))
        shmemx_dev_long_wait_until(h, word, 7, 0);
    if (wanted("sig_op", "shmemx_dev_put_signal: sig_op is 9"))
        shmemx_dev_signal_op(h, sig, 1, 9, pe_me);
    if (name != NULL && pe_me == pe_n - 1) shmemx_dev_quiet(h);
}

/* Told, and survived. */
static void refused(void)
{
    shmemx_device_options_t options = SHMEMX_DEVICE_OPTIONS_INITIALIZER;
    shmemx_device_handle_t none = {0}, unused;

    PE_CHECK(shmemx_device_handle_create(SHMEM_TEAM_INVALID, NULL, &none) != 0,
             "handle_create for SHMEM_TEAM_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_device_handle_destroy(&none) != 0,
             "handle_destroy of a zero handle returned 0, expected an error");
    options.n_rings = 0;
    PE_CHECK(shmemx_device_handle_create(SHMEM_TEAM_WORLD, &options, &none) != 0,
             "handle_create with n_rings 0 returned 0, expected an error");
    options.n_rings = 1 + pe_me % 2;
    PE_CHECK(
        (shmemx_device_handle_create(SHMEM_TEAM_WORLD, &options, &none) != 0) == (pe_n > 1),
        "handle_create with n_rings that differ between PEs: an error is expected with two PEs or "
        "more, and only then");
    if (pe_n == 1) PE_CHECK_EQ(shmemx_device_handle_destroy(&none), 0);
    options.n_rings = 1;
    options.by_ring = pe_me % 2;
    PE_CHECK(
        (shmemx_device_handle_create(SHMEM_TEAM_WORLD, &options, &none) != 0) == (pe_n > 1),
        "handle_create with by_ring that differs between PEs: an error is expected with two PEs or "
        "more, and only then");
    if (pe_n == 1) PE_CHECK_EQ(shmemx_device_handle_destroy(&none), 0);
    options.by_ring = 0;
    options.device = 5;
    PE_CHECK(shmemx_device_handle_create(SHMEM_TEAM_WORLD, &options, &none) != 0,
             "handle_create with a device for host threads returned 0, expected an error");
    /* and one that nobody destroys */
    PE_CHECK_EQ(shmemx_device_handle_create(SHMEM_TEAM_WORLD, NULL, &unused), 0);
}

/* Of a handle that is gone, by a copy of it. */
static void stale(void)
{
    shmemx_device_handle_t made, copy;

    PE_CHECK_EQ(shmemx_device_handle_create(SHMEM_TEAM_WORLD, NULL, &made), 0);
    copy = made;
    PE_CHECK_EQ(shmemx_device_handle_destroy(&made), 0);
    if (pe_me == pe_n - 1) {
        (void)shmemx_device_handle_destroy(&copy);
        printf("survived\n");
    }
    shmem_barrier_all();
}

/* Each request of a ring is done once. */
static void again(int life)
{
    shmemx_device_options_t options = SHMEMX_DEVICE_OPTIONS_INITIALIZER;

    options.by_ring = 1;
    options.n_rings = 1;
    word = shmem_calloc(4, sizeof(*word));
    PE_REQUIRE(shmemx_device_handle_create(SHMEM_TEAM_WORLD, &options, &handle) == 0,
               "shmemx_device_handle_create for the world failed");
    for (int i = 0; i < 50 * life; i++)
        shmemx_dev_long_atomic_add(&handle, word, 1, (pe_me + 1) % pe_n);
    shmemx_dev_quiet(&handle);
    shmem_barrier_all();
    PE_CHECK_EQ(*word, 50 * life);
}

static void killed(void)
{
    shmem_barrier_all();
    if (pe_me == pe_n - 1) {
        printf("now\n");
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    shmemx_dev_long_wait_until(&handle, word, SHMEMX_DEV_CMP_NE, 0);
}

int main(int argc, char **argv)
{
    long on_stack = 0;

    if (argc < 2 || strcmp(argv[1], "list") == 0) {
        make_call();
        return PE_PASS;
    }
    name = argv[1];
    private = &on_stack;
    pe_test_begin();
    if (strcmp(name, "again") == 0) {
        for (int life = 1; life < 3; life++) {
            again(life);
            shmem_finalize();
            pe_test_begin();
        }
        again(3);
        return pe_test_end();
    }
    if (strcmp(name, "refused") == 0 || strcmp(name, "stale") == 0) {
        name[0] == 'r' ? refused() : stale();
        return pe_test_end();
    }
    word = shmem_calloc(4, sizeof(*word));
    PE_REQUIRE(shmemx_device_handle_create(SHMEM_TEAM_WORLD, NULL, &handle) == 0,
               "shmemx_device_handle_create for the world failed");
    if (strcmp(name, "killed") == 0) killed();
    make_call();
    shmem_barrier_all();
    fprintf(stderr, "pe %d: survived %s\n", pe_me, name);
    return pe_test_end();
}
