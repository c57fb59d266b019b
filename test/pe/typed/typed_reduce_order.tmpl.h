/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks max and min reductions of one TYPE over a group. Random bits show a wrong sign of the
 * type.
 */

static void T(reduce_order)(GROUP group)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, *source = typed_source;
    TYPE want[3][TYPED_LEN], theirs[TYPED_LEN];

    T(fill)(dest[0], 3 * TYPED_LEN, TYPED_GUARD);
    T(fill)(want[0], 3 * TYPED_LEN, TYPED_GUARD);
    T(fill)(source, TYPED_LEN, typed_seed(pe_me, 6));
    for (int k = 0; k < GROUP_N(group); k++) {
        int pe = GROUP_PE(group, k);
        T(fill)(theirs, TYPED_LEN, typed_seed(pe, 6));
        for (int i = 0; i < TYPED_LEN - 1; i++) {
            want[0][i] = k == 0 || theirs[i] > want[0][i] ? theirs[i] : want[0][i];
            want[1][i] = k == 0 || theirs[i] < want[1][i] ? theirs[i] : want[1][i];
        }
    }
    GROUP_SYNC(group);
    GROUP_REDUCE(max, group, dest[0], source, TYPED_LEN - 1, typed_work);
    GROUP_REDUCE(min, group, dest[1], source, TYPED_LEN - 1, NULL);
    for (int row = 0; row < 3; row++)
        T(same)(dest[row], want[row], TYPED_LEN, "max, min reduce", row);
    GROUP_SYNC(group);
}
