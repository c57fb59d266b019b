/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the old wait of one TYPE, which returns when the object differs from a value.
 */

static void T(wait_old)(shmem_ctx_t ctx)
{
    TYPE *ivar = (TYPE *)typed_dest + 1, v[6];

    (void)ctx;
    T(six)(v);
    *ivar = v[2];
    shmem_barrier_all();
    FN(p)(ivar, v[5], pe_right());
    FN(wait)(ivar, v[2]);
    T(same)(ivar, &v[5], 1, "wait", 0);
    FN(wait)(ivar, v[0]); /* does not wait: it differs */
    shmem_barrier_all();
}
