/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provider shim: contexts of operations. A context belongs to the program until the program posts,
 * and to the provider until the program has read the completion. The shim checks that the program
 * neither shares nor changes a context in between.
 */
#include "shim.h"

#include <string.h>

#define BUCKETS 4096

static struct shim_op *contexts[BUCKETS];

/* Bytes of a context that belong to the provider. */
static size_t context_size(void)
{
    if (shim_modes()->context2) return sizeof(struct fi_context2);
    return shim_modes()->context ? sizeof(struct fi_context) : 0;
}

static uintptr_t bucket_of(const void *context)
{
    return (uintptr_t)context / sizeof(struct fi_context2);
}

static void check_alone(const struct shim_op *op)
{
    for (int beside = -1; beside <= 1; beside++) {
        uintptr_t bucket = bucket_of(op->context) + (uintptr_t)beside;

        for (const struct shim_op *other = contexts[bucket % BUCKETS]; other != NULL;
             other = other->same_bucket) {
            uintptr_t apart = (uintptr_t)other->context - (uintptr_t)op->context;

            if (apart < context_size() || -apart < context_size())
                shim_die("%s: its context %p is in use by %s", op->name, op->context, other->name);
        }
    }
}

/* From here on the context is the provider's, which writes there. */
void shim_context_take(struct shim_op *op)
{
    struct shim_op **bucket;

    if (!op->wanted || context_size() == 0) return;
    if (op->context == NULL) shim_die("%s: without a context", op->name);
    check_alone(op);
    bucket = &contexts[bucket_of(op->context) % BUCKETS];
    op->same_bucket = *bucket;
    *bucket = op;
    op->tracked = true;
    op->pattern = shim_random();
    for (size_t i = 0; i < context_size(); i += sizeof(op->pattern))
        memcpy((char *)op->context + i, &op->pattern, sizeof(op->pattern));
}

void shim_context_give(struct shim_op *op, bool check)
{
    struct shim_op **at = &contexts[bucket_of(op->context) % BUCKETS];

    if (!op->tracked) return;
    while (*at != op)
        at = &(*at)->same_bucket;
    *at = op->same_bucket;
    op->tracked = false;
    if (!check) return;
    for (size_t i = 0; i < context_size(); i += sizeof(op->pattern))
        if (memcmp((char *)op->context + i, &op->pattern, sizeof(op->pattern)) != 0)
            shim_die("%s: its context %p was written to while it was under way", op->name,
                     op->context);
    shim_counts.contexts++;
}
