/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends words to other nodes, and waits for words from other nodes. Small data and its word are
 * sent as one message. Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

#include <string.h>

#define NET_PACKED 768 /* maximum bytes that the fabric may pack into a message */

/* Returns true if the fabric can pack the data and the word into one message to PE pe. */
static bool is_packed(const uint64_t *word, size_t nbytes, int pe)
{
    return nbytes <= NET_PACKED && stp_ctx_small.fabric != NULL &&
           stp_ptr_inline(word, pe, STP_USE_ATOMIC) == NULL;
}

/*
 * Sends data and a word in a session of the fabric. In a session, the fabric collects the data and
 * the word in one message. It sends this message when the session ends. The target applies the
 * items of the message in order. If the fabric does not pack messages, the session has no effect.
 * The context stp_ctx_small is used only here, because the session must not collect other messages
 * of collectives.
 *
 * Without a session, the fabric would queue the word until the target acknowledges the previous
 * word. The target may send this acknowledgement only together with its next word for this PE. A
 * wait for this word would then have to read the completion queue before it can send the queued
 * word. In addition, this PE would send its acknowledgements as separate messages.
 */
static void send_packed(void *dest, const void *source, size_t nbytes, uint64_t *word,
                        uint64_t value, int op, int pe, const char *fn)
{
    struct stp_fabric_ctx *fabric = stp_ctx_small.fabric;

    stp_rt.fabric.session(fabric, true, SIZE_MAX);
    stp_put_signal(&stp_ctx_small, dest, source, nbytes, word, value, op, false, pe, fn);
    stp_rt.fabric.session(fabric, false, SIZE_MAX);
}

void stp_coll_post_far(uint64_t *word, uint64_t value, int pe)
{
    if (is_packed(word, 0, pe))
        send_packed(NULL, NULL, 0, word, value, SHMEM_SIGNAL_SET, pe, "collective");
    else
        stp_store_slow(&stp_ctx_coll, word, &value, sizeof(value), pe, "collective");
}

void stp_coll_send(void *dest, const void *source, size_t nbytes, uint64_t *word, uint64_t value,
                   int pe)
{
    if (nbytes > 0 && is_packed(word, nbytes, pe))
        send_packed(dest, source, nbytes, word, value, SHMEM_SIGNAL_SET, pe, "collective");
    else
        stp_put_signal(&stp_ctx_coll, dest, source, nbytes, word, value, SHMEM_SIGNAL_SET, false,
                       pe, "collective");
}

void stp_coll_send_kept(void *dest, const void *source, size_t nbytes, uint64_t *word,
                        uint64_t value, int pe)
{
    if (nbytes <= NET_PACKED)
        stp_coll_send(dest, source, nbytes, word, value, pe);
    else
        stp_put_notify(&stp_ctx_coll, dest, source, nbytes, word, value, SHMEM_SIGNAL_SET, pe,
                       "collective");
}

void stp_coll_put_and_count(struct stp_coll_cell *cell, int which_count, void *dest,
                            const void *source, size_t nbytes, int pe, const char *fn)
{
    uint64_t *word = &cell->flags[which_count];

    if (is_packed(word, nbytes, pe) && (nbytes == 0 || !stp_on_device(dest, source)))
        send_packed(dest, source, nbytes, word, 1, SHMEM_SIGNAL_ADD, pe, fn);
    else
        stp_put_notify(&stp_ctx_coll, dest, source, nbytes, word, 1, SHMEM_SIGNAL_ADD, pe, fn);
}

/*
 * Waits for a word that has not arrived yet. This function is not inlined, so a wait for a word
 * that has arrived costs only one load and one compare.
 */
static __attribute__((noinline)) void wait_far_slow(const uint64_t *word, uint64_t value)
{
    struct stp_wait wait = {0};

    for (;;) {
        if (STP_LIKELY(stp_rt.has_fabric)) stp_rt.fabric.progress();
        /*
         * Both loads of the word pair with the release stores in stp_coll_post() and
         * stp_ofi_cqdata_apply_to_word_locked().
         */
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= value) break;
        stp_yield_and_watch_peers(wait.turns);
        if (STP_UNLIKELY(stp_wait_turn(&wait))) stp_coll_show_wait(word);
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= value) break;
    }
    stp_wait_end(&wait);
}

void stp_coll_wait_far(const uint64_t *word, uint64_t value)
{
    /* Pairs with the release stores that are named in wait_far_slow(). */
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) wait_far_slow(word, value);
}
