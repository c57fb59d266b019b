/* SPDX-License-Identifier: BSD-3-Clause */
/* and, or, xor of one TYPE over an active set. */

static void T(active_bit)(const struct pe_set *set)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, *source = typed_source;
    TYPE want[4][TYPED_LEN], theirs[TYPED_LEN];

    T(fill)(dest[0], 4 * TYPED_LEN, TYPED_GUARD);
    T(fill)(want[0], 4 * TYPED_LEN, TYPED_GUARD);
    T(fill)(source, TYPED_LEN, typed_seed(pe_me, 5));
    for (int k = 0; k < set->size; k++) {
        T(fill)(theirs, TYPED_LEN, typed_seed(pe_set_pe(set, k), 5));
        for (int i = 0; i < TYPED_LEN - 1; i++) {
            want[0][i] = (TYPE)(k == 0 ? theirs[i] : want[0][i] & theirs[i]);
            want[1][i] = (TYPE)(k == 0 ? theirs[i] : want[1][i] | theirs[i]);
            want[2][i] = (TYPE)(k == 0 ? theirs[i] : want[2][i] ^ theirs[i]);
        }
    }
    between(set);
    FN(and_to_all)(dest[0], source, TYPED_LEN - 1, PE_SET(set), typed_work, sync_data);
    between(set);
    FN(or_to_all)(dest[1], source, TYPED_LEN - 1, PE_SET(set), typed_work, sync_data);
    between(set);
    FN(xor_to_all)(dest[2], source, TYPED_LEN - 1, PE_SET(set), NULL, sync_data);
    between(set);
    FN(xor_to_all)(NULL, NULL, 0, PE_SET(set), NULL, sync_data);
    for (int row = 0; row < 4; row++)
        T(same)(dest[row], want[row], TYPED_LEN, "and, or, xor to_all", row);
    between(set);
}
