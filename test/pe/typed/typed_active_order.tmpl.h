/* SPDX-License-Identifier: BSD-3-Clause */
/* max and min of one TYPE over an active set: of random bits, so the top bit tells signs apart. */

static void T(active_order)(const struct pe_set *set)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, *source = typed_source;
    TYPE want[3][TYPED_LEN], theirs[TYPED_LEN];

    T(fill)(dest[0], 3 * TYPED_LEN, TYPED_GUARD);
    T(fill)(want[0], 3 * TYPED_LEN, TYPED_GUARD);
    T(fill)(source, TYPED_LEN, typed_seed(pe_me, 6));
    for (int k = 0; k < set->size; k++) {
        T(fill)(theirs, TYPED_LEN, typed_seed(pe_set_pe(set, k), 6));
        for (int i = 0; i < TYPED_LEN - 1; i++) {
            want[0][i] = k == 0 || theirs[i] > want[0][i] ? theirs[i] : want[0][i];
            want[1][i] = k == 0 || theirs[i] < want[1][i] ? theirs[i] : want[1][i];
        }
    }
    between(set);
    FN(max_to_all)(dest[0], source, TYPED_LEN - 1, PE_SET(set), typed_work, sync_data);
    between(set);
    FN(min_to_all)(dest[1], source, TYPED_LEN - 1, PE_SET(set), NULL, sync_data);
    for (int row = 0; row < 3; row++)
        T(same)(dest[row], want[row], TYPED_LEN, "max, min to_all", row);
    between(set);
}
