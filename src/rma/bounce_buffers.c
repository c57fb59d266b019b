/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns the bounce buffers, which are buffers in host memory. Data of device memory passes through a
 * bounce buffer if the fabric cannot access the device memory. Requests to the proxy threads of PEs
 * on other nodes (stage.c) are also sent from bounce buffers. The first use of a buffer allocates
 * and pins all buffers. Design: docs/design/kinds.md.
 */
#include "rma.h"

#include <stdlib.h>

static struct {
    /* Guards the other two fields. */
    pthread_mutex_t lock;
    char *memory;  /* memory of all buffers, or NULL before the first use */
    unsigned used; /* bit i is 1 while buffer i is in use */
} bounce = {.lock = PTHREAD_MUTEX_INITIALIZER};
_Static_assert(STP_BOUNCE_BUFFERS < 32, "one bit for each buffer");

static void bounce_make_locked(void)
{
    size_t nbytes = STP_BOUNCE_BYTES * STP_BOUNCE_BUFFERS;

    bounce.memory = aligned_alloc(4096, nbytes);
    if (bounce.memory == NULL)
        stp_fatal("copy", "out of memory: cannot allocate %zu bytes of buffers for copies", nbytes);
    stp_kinds_pin(bounce.memory, nbytes);
}

char *stp_bounce_try(void)
{
    char *buffer = NULL;
    unsigned all = (1u << STP_BOUNCE_BUFFERS) - 1;

    pthread_mutex_lock(&bounce.lock);
    if (bounce.memory == NULL) bounce_make_locked();
    if (bounce.used != all) {
        int i = __builtin_ctz(~bounce.used);
        bounce.used |= 1u << i;
        buffer = bounce.memory + (size_t)i * STP_BOUNCE_BYTES;
    }
    pthread_mutex_unlock(&bounce.lock);
    return buffer;
}

char *stp_bounce_wait_take(void)
{
    struct stp_wait wait = {0};
    char *buffer;

    while ((buffer = stp_bounce_try()) == NULL)
        stp_wait_idle_once(&wait);
    return buffer;
}

void stp_bounce_give(char *buffer)
{
    size_t i = (size_t)(buffer - bounce.memory) / STP_BOUNCE_BYTES;

    pthread_mutex_lock(&bounce.lock);
    bounce.used &= ~(1u << i);
    pthread_mutex_unlock(&bounce.lock);
}

void stp_bounce_fini(void)
{
    if (bounce.memory == NULL) return;
    stp_kinds_unpin(bounce.memory, STP_BOUNCE_BYTES * STP_BOUNCE_BUFFERS);
    free(bounce.memory);
    bounce.memory = NULL;
}

void stp_bounce_preallocate(void)
{
    stp_bounce_give(stp_bounce_wait_take());
}
