/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks and, or and xor reductions of one TYPE over a group, which is a team or an active set.
 */

static void T(reduce_bit)(GROUP group)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, *source = typed_source;
    TYPE want[4][TYPED_LEN], theirs[TYPED_LEN];

    T(fill)(dest[0], 4 * TYPED_LEN, TYPED_GUARD);
    T(fill)(want[0], 4 * TYPED_LEN, TYPED_GUARD);
    T(fill)(source, TYPED_LEN, typed_seed(pe_me, 5));
    for (int k = 0; k < GROUP_N(group); k++) {
        int pe = GROUP_PE(group, k);
        T(fill)(theirs, TYPED_LEN, typed_seed(pe, 5));
        for (int i = 0; i < TYPED_LEN - 1; i++) {
            want[0][i] = (TYPE)(k == 0 ? theirs[i] : want[0][i] & theirs[i]);
            want[1][i] = (TYPE)(k == 0 ? theirs[i] : want[1][i] | theirs[i]);
            want[2][i] = (TYPE)(k == 0 ? theirs[i] : want[2][i] ^ theirs[i]);
        }
    }
    GROUP_SYNC(group);
    GROUP_REDUCE(and, group, dest[0], source, TYPED_LEN - 1, typed_work);
    GROUP_REDUCE(or, group, dest[1], source, TYPED_LEN - 1, typed_work);
    GROUP_REDUCE(xor, group, dest[2], source, TYPED_LEN - 1, NULL);
    GROUP_REDUCE(xor, group, NULL, NULL, 0, NULL);
    for (int row = 0; row < 4; row++)
        T(same)(dest[row], want[row], TYPED_LEN, "and, or, xor reduce", row);
    GROUP_SYNC(group);
}
