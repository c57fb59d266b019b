/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels for tests of GPU memory: they do what kernels of programs do, without calls of the
 * library. The code uses no CUDA headers. make_ptx.sh makes kernels.ptx from it, which is checked
 * in, so that no toolkit is needed: the driver compiles that text for its device. Every word has 64
 * bits. Words that others use at the same time (other kernels, copies, the CPU) are accessed with
 * system scope. limit is the number of polls after which a kernel gives up, so that no kernel runs
 * forever.
 *
 * test/fakecuda/twins.c has the same kernels in C for the host.
 */
#define KERNEL extern "C" __attribute__((global)) void

typedef unsigned long long u64;

static __attribute__((device)) u64 thread_number(void)
{
    return (u64)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
           __nvvm_read_ptx_sreg_tid_x();
}

static __attribute__((device)) u64 n_threads(void)
{
    return (u64)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}

static __attribute__((device)) u64 load(const u64 *word)
{
    u64 value;

    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

static __attribute__((device)) void store(u64 *word, u64 value)
{
    asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

/* Look at word until it is value; how often it looked, 0 when it gave up. */
static __attribute__((device)) u64 wait_for(const u64 *word, u64 value, u64 limit)
{
    for (u64 n = 1; n <= limit; n++)
        if (load(word) == value) return n;
    return 0;
}

/* One thread: wait until word is value; looks becomes how often it looked, 0 when it gave up. */
KERNEL stp_test_spin(const u64 *word, u64 value, u64 limit, u64 *looks)
{
    store(looks, wait_for(word, value, limit));
}

/* Any grid: copy n words. */
KERNEL stp_test_copy(u64 *dest, const u64 *source, u64 n)
{
    for (u64 i = thread_number(); i < n; i += n_threads())
        dest[i] = source[i];
}

/* Any grid: each thread adds value to word, times times. */
KERNEL stp_test_add(u64 *word, u64 value, u64 times)
{
    for (u64 i = 0; i < times; i++)
        asm volatile("red.relaxed.sys.add.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

/*
 * One thread: wait until signal is value, add up the n words of data, which came before it, write
 * the sum, and then answer: value, or 0 when it gave up.
 */
KERNEL stp_test_poll(const u64 *signal, u64 value, u64 limit, const u64 *data, u64 n, u64 *sum,
                     u64 *answer)
{
    u64 total = 0;

    if (wait_for(signal, value, limit) == 0) {
        store(answer, 0);
        return;
    }
    for (u64 i = 0; i < n; i++)
        total += load(&data[i]);
    store(sum, total);
    store(answer, value);
}
