/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the active-set collectives that move elements of SIZE bits, with K elements in a block
 * and with no elements.
 */

#define ELEM TYPED_JOIN(uint, SIZE, _t)
#define S(op) TYPED_JOIN(shmem_##op, SIZE, )
#define SIZED(what) TYPED_JOIN(sized, SIZE, _##what)
#define K 3

/* What PE pe of the world brings for row. */
static void SIZED(fill)(ELEM *a, size_t n, int pe, int row)
{
    for (size_t i = 0; i < n; i++)
        a[i] = (ELEM)(typed_mix(typed_seed(pe, row) * UINT64_C(0x9e3779b97f4a7c15) + i) >> 7);
}

/* Both start as guards; a difference in any of n elements is told. */
static void SIZED(guard)(ELEM *dest, ELEM *want, size_t n)
{
    SIZED(fill)(dest, n, TYPED_GUARD, 0);
    SIZED(fill)(want, n, TYPED_GUARD, 0);
}

static void SIZED(same)(const ELEM *got, const ELEM *want, size_t n, const char *what)
{
    PE_CHECK_EACH(size_t, i, n, got[i] == want[i],
                  "%s%d over an active set: element %zu of %zu is wrong", what, SIZE,
                  i, n);
}

static void SIZED(active_alltoall)(const struct pe_set *set, ELEM *dest, ELEM *source)
{
    ELEM want[TYPED_ROWS * TYPED_LEN], theirs[TYPED_ROWS * TYPED_LEN];
    size_t all = (size_t)set->size * K;

    SIZED(guard)(dest, want, all + 1);
    SIZED(fill)(source, 3 * all, pe_me, 1);
    for (int k = 0; k < set->size; k++) {
        SIZED(fill)(theirs, 3 * all, pe_set_pe(set, k), 1);
        memcpy(&want[k * K], &theirs[set->rank * K], K * sizeof(ELEM));
    }
    between(set);
    S(alltoall)(dest, source, K, PE_SET(set), sync_data);
    SIZED(same)(dest, want, all + 1, "alltoall");
    between(set);

    SIZED(guard)(dest, want, 2 * all + 1);
    for (int k = 0; k < set->size; k++) {
        SIZED(fill)(theirs, 3 * all, pe_set_pe(set, k), 1);
        for (int i = 0; i < K; i++) want[(k * K + i) * 2] = theirs[(set->rank * K + i) * 3];
    }
    between(set);
    S(alltoalls)(dest, source, 2, 3, K, PE_SET(set), sync_data);
    SIZED(same)(dest, want, 2 * all + 1, "alltoalls");
    between(set);
}

/* PE_root counts members; its own dest stays as it is. */
static void SIZED(active_broadcast)(const struct pe_set *set, ELEM *dest, ELEM *source)
{
    ELEM want[TYPED_LEN];

    for (int root = 0; root < set->size; root += set->size > 1 ? set->size - 1 : 1) {
        SIZED(guard)(dest, want, TYPED_LEN);
        SIZED(fill)(source, K, pe_me, 2);
        if (set->rank != root) SIZED(fill)(want, K, pe_set_pe(set, root), 2);
        between(set);
        S(broadcast)(dest, source, K, root, PE_SET(set), sync_data);
        SIZED(same)(dest, want, TYPED_LEN, "broadcast");
        between(set);
    }
}

/* collect: member k gives k % 3 elements; fcollect: all of them K. */
static void SIZED(active_collect)(const struct pe_set *set, ELEM *dest, ELEM *source)
{
    ELEM want[TYPED_ROWS * TYPED_LEN];
    size_t all = (size_t)set->size * K, at = 0, mine = (size_t)(set->rank % 3);

    SIZED(guard)(dest, want, all + 1);
    SIZED(fill)(source, K, pe_me, 3);
    for (int k = 0; k < set->size; at += (size_t)(k++ % 3))
        SIZED(fill)(&want[at], (size_t)(k % 3), pe_set_pe(set, k), 3);
    between(set);
    S(collect)(dest, mine > 0 ? source : NULL, mine, PE_SET(set), sync_data);
    SIZED(same)(dest, want, all + 1, "collect");
    between(set);

    SIZED(guard)(dest, want, all + 1);
    for (int k = 0; k < set->size; k++) SIZED(fill)(&want[k * K], K, pe_set_pe(set, k), 3);
    between(set);
    S(fcollect)(dest, source, K, PE_SET(set), sync_data);
    SIZED(same)(dest, want, all + 1, "fcollect");
    between(set);
}

/* Nothing to move, and no buffers. */
static void SIZED(active_nothing)(const struct pe_set *set)
{
    S(alltoall)(NULL, NULL, 0, PE_SET(set), sync_data);
    between(set);
    S(alltoalls)(NULL, NULL, 1, 1, 0, PE_SET(set), sync_data);
    between(set);
    S(broadcast)(NULL, NULL, 0, 0, PE_SET(set), sync_data);
    between(set);
    S(collect)(NULL, NULL, 0, PE_SET(set), sync_data);
    between(set);
    S(fcollect)(NULL, NULL, 0, PE_SET(set), sync_data);
    between(set);
}

static void SIZED(active)(const struct pe_set *set)
{
    SIZED(active_alltoall)(set, typed_dest, typed_source);
    SIZED(active_broadcast)(set, typed_dest, typed_source);
    SIZED(active_collect)(set, typed_dest, typed_source);
    SIZED(active_nothing)(set);
}

#undef ELEM
#undef S
#undef SIZED
#undef K
