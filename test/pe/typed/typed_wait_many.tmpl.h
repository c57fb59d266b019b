/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks waits and tests on arrays of one TYPE: each comparison against C, results on arrays that
 * do not change, on empty arrays, and on arrays that the left PE changes element by element.
 */

/* Each comparison of each two values, by every form, with and without marks. */
static void T(many_truth)(TYPE *ivars, const TYPE v[6])
{
    static const int first[2] = {0, 1};
    size_t at;

    for (int i = 0; i < 36; i++)
        for (int cmp = SHMEM_CMP_EQ; cmp <= SHMEM_CMP_GE; cmp++) {
            TYPE a = v[i / 6], b = v[i % 6], bs[2] = {b, b};
            size_t want = T(compare)(a, cmp, b) != 0, any = want ? 0 : SIZE_MAX;

            ivars[0] = ivars[1] = a;
            PE_CHECK((size_t)MANY(test_all)(ivars, 2, NULL, cmp, b) == want &&
                         (size_t)MANY(test_all_vector)(ivars, 2, first, cmp, bs) == want &&
                         MANY(test_any)(ivars, 2, first, cmp, b) == any &&
                         MANY(test_any_vector)(ivars, 1, NULL, cmp, bs) == any &&
                         MANY(test_some)(ivars, 2, &at, first, cmp, b) == want &&
                         MANY(test_some_vector)(ivars, 1, &at, NULL, cmp, bs) == want,
                     "%s: a test on an array with corner value %d, comparison %d, corner value %d "
                     "differs from C", TYPED_TEXT(NAME), i / 6, cmp, i % 6);
            if (!want) continue;
            MANY(wait_until_all)(ivars, 2, NULL, cmp, b);
            MANY(wait_until_all_vector)(ivars, 2, first, cmp, bs);
            PE_CHECK_EQ(MANY(wait_until_any)(ivars, 2, first, cmp, b), 0);
            PE_CHECK_EQ(MANY(wait_until_any_vector)(ivars, 1, NULL, cmp, bs), 0);
            PE_CHECK_EQ(MANY(wait_until_some)(ivars, 2, &at, first, cmp, b), 1);
            PE_CHECK_EQ(MANY(wait_until_some_vector)(ivars, 1, &at, NULL, cmp, bs), 1);
        }
}

/* Elements 1, 3, 4, 6 of 7 hold big; 4 is marked. ">= big" then holds for 1, 3, 6. */
static void T(many_rest)(TYPE *ivars, TYPE big, TYPE small)
{
    static const int status[7] = {0, 0, 0, 0, 1, 0, 0}, only[7] = {1, 0, 1, 0, 1, 1, 0};
    static const size_t want[3] = {1, 3, 6};
    size_t indices[7], seen[7] = {0};
    TYPE bigs[7], mixed[7];

    for (int i = 0; i < 7; i++) {
        bigs[i] = big;
        mixed[i] = ivars[i] = i == 1 || i == 3 || i == 4 || i == 6 ? big : small;
    }
    PE_CHECK_EQ(MANY(test_all)(ivars, 7, NULL, SHMEM_CMP_GE, big), 0);
    PE_CHECK_EQ(MANY(test_all)(ivars, 7, only, SHMEM_CMP_GE, big), 1);
    PE_CHECK_EQ(MANY(test_all_vector)(ivars, 7, NULL, SHMEM_CMP_EQ, mixed), 1);
    PE_CHECK_EQ(MANY(test_all_vector)(ivars, 7, status, SHMEM_CMP_EQ, bigs), 0);
    MANY(wait_until_all)(ivars, 7, only, SHMEM_CMP_GE, big);
    MANY(wait_until_all_vector)(ivars, 7, NULL, SHMEM_CMP_EQ, mixed);

    PE_CHECK_EQ(MANY(test_some)(ivars, 7, indices, status, SHMEM_CMP_GE, big), 3);
    PE_CHECK(memcmp(indices, want, sizeof(want)) == 0,
             "%s: test_some returned wrong indices", TYPED_TEXT(NAME));
    PE_CHECK_EQ(MANY(test_some_vector)(ivars, 7, indices, only, SHMEM_CMP_EQ, bigs), 3);
    PE_CHECK(memcmp(indices, want, sizeof(want)) == 0,
             "%s: test_some_vector returned wrong indices", TYPED_TEXT(NAME));
    PE_CHECK_EQ(MANY(wait_until_some)(ivars, 7, indices, status, SHMEM_CMP_GE, big), 3);
    PE_CHECK_EQ(MANY(wait_until_some_vector)(ivars, 7, indices, NULL, SHMEM_CMP_EQ, mixed), 7);
    PE_CHECK_EQ(MANY(test_some)(ivars, 7, indices, NULL, SHMEM_CMP_GT, big), 0);

    /* none of the satisfied ones starves */
    for (int i = 0; i < 40; i++) {
        seen[MANY(wait_until_any)(ivars, 7, status, SHMEM_CMP_GE, big)]++;
        seen[MANY(test_any)(ivars, 7, status, SHMEM_CMP_GE, big)]++;
        seen[MANY(wait_until_any_vector)(ivars, 7, status, SHMEM_CMP_EQ, bigs)]++;
        seen[MANY(test_any_vector)(ivars, 7, status, SHMEM_CMP_EQ, bigs)]++;
    }
    PE_CHECK(seen[1] && seen[3] && seen[6] && !seen[0] && !seen[2] && !seen[4] && !seen[5],
             "%s: the any forms returned the seven indices %zu %zu %zu %zu %zu %zu %zu times: "
             "expected 1, 3 and 6 only, each of them", TYPED_TEXT(NAME), seen[0], seen[1],
             seen[2], seen[3], seen[4], seen[5], seen[6]);
    PE_CHECK(MANY(test_any)(ivars, 7, NULL, SHMEM_CMP_LT, small) == SIZE_MAX,
             "test_any when no element satisfies did not return SIZE_MAX");
    PE_CHECK(MANY(test_any_vector)(ivars, 7, only, SHMEM_CMP_NE, bigs) == SIZE_MAX,
             "test_any_vector when no element satisfies did not return SIZE_MAX");
}

/* Nothing to wait for: at once, also without an array. */
static void T(many_empty)(TYPE *ivars)
{
    static const int all[7] = {1, 1, 1, -1, 1, 1, 7};
    const int *status[2] = {NULL, all};
    TYPE *array[2] = {NULL, ivars};
    TYPE v[7] = {0};
    size_t indices[7];

    for (int i = 0; i < 2; i++) {
        const int *marks = status[i];
        size_t n = i == 0 ? 0 : 7;

        MANY(wait_until_all)(array[i], n, marks, SHMEM_CMP_EQ, 1);
        MANY(wait_until_all_vector)(array[i], n, marks, SHMEM_CMP_EQ, v);
        PE_CHECK_EQ(MANY(test_all)(array[i], n, marks, SHMEM_CMP_EQ, 1), 1);
        PE_CHECK_EQ(MANY(test_all_vector)(array[i], n, marks, SHMEM_CMP_EQ, v), 1);
        PE_CHECK(MANY(wait_until_any)(array[i], n, marks, SHMEM_CMP_EQ, 1) == SIZE_MAX &&
                     MANY(wait_until_any_vector)(array[i], n, marks, SHMEM_CMP_EQ, v) == SIZE_MAX &&
                     MANY(test_any)(array[i], n, marks, SHMEM_CMP_EQ, 1) == SIZE_MAX &&
                     MANY(test_any_vector)(array[i], n, marks, SHMEM_CMP_EQ, v) == SIZE_MAX,
                 "%s: an any form on an empty set did not return SIZE_MAX", TYPED_TEXT(NAME));
        PE_CHECK_EQ(MANY(wait_until_some)(array[i], n, indices, marks, SHMEM_CMP_EQ, 1), 0);
        PE_CHECK_EQ(MANY(wait_until_some_vector)(array[i], n, indices, marks, SHMEM_CMP_EQ, v), 0);
        PE_CHECK_EQ(MANY(test_some)(array[i], n, indices, marks, SHMEM_CMP_EQ, 1), 0);
        PE_CHECK_EQ(MANY(test_some_vector)(array[i], n, indices, marks, SHMEM_CMP_EQ, v), 0);
    }
}

/* Collect the seven elements as they come, by the form of this round; each once. */
static void T(many_collect)(TYPE *ivars, TYPE old, const TYPE *olds, int round)
{
    enum { NE = SHMEM_CMP_NE };
    int status[7] = {0};
    size_t indices[7], n_found = 0, n;

    while (n_found < 7) {
        n = 1;
        switch (round) {
        case 0: indices[0] = MANY(wait_until_any)(ivars, 7, status, NE, old); break;
        case 1: indices[0] = MANY(wait_until_any_vector)(ivars, 7, status, NE, olds); break;
        case 2: n = MANY(wait_until_some)(ivars, 7, indices, status, NE, old); break;
        case 3: n = MANY(wait_until_some_vector)(ivars, 7, indices, status, NE, olds); break;
        case 4: n = MANY(test_some)(ivars, 7, indices, status, NE, old); break;
        default:
            indices[0] = MANY(test_any)(ivars, 7, status, NE, old);
            n = indices[0] != SIZE_MAX;
        }
        for (size_t i = 0; i < n; i++) {
            PE_REQUIRE(indices[i] < 7 && !status[indices[i]],
                       "%s, round %d: index %zu is out of range or was returned before",
                       TYPED_TEXT(NAME), round, indices[i]);
            status[indices[i]] = 1;
        }
        n_found += n;
    }
}

static void T(wait_many)(shmem_ctx_t ctx)
{
    static const int order[7] = {3, 0, 6, 2, 5, 1, 4};
    TYPE *ivars = typed_dest, old[7], v[6];

    (void)ctx;
    T(six)(v);
    T(many_truth)(ivars, v);
    for (int k = 0; k < 36; k++)
        if (v[k / 6] > v[k % 6]) T(many_rest)(ivars, v[k / 6], v[k % 6]);
    T(many_empty)(ivars);
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < 7; i++) old[i] = ivars[i] = v[5];
        shmem_barrier_all();
        for (int i = 0; i < 7; i++) UPDATE(&ivars[order[i]], v[2], pe_right());
        if (round < 6) T(many_collect)(ivars, v[5], old, round);
        else if (round == 6) MANY(wait_until_all)(ivars, 7, NULL, SHMEM_CMP_EQ, v[2]);
        else MANY(wait_until_all_vector)(ivars, 7, NULL, SHMEM_CMP_NE, old);
        for (int i = 0; i < 7; i++) T(same)(&ivars[i], &v[2], 1, "array", i);
        shmem_barrier_all();
    }
}
