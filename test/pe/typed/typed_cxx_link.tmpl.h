/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included in a C++ function: checks that routines of one TYPE link under their C names and have
 * the right types, and that the overloads of RMA and max_reduce select this type.
 */
{
    void (*put)(TYPE *, const TYPE *, size_t, int) = TYPED_CXX(shmem_, _put);
    void (*p)(shmem_ctx_t, TYPE *, TYPE, int) = TYPED_CXX(shmem_ctx_, _p);
    TYPE (*g)(const TYPE *, int) = TYPED_CXX(pshmem_, _g);
    int (*fcollect)(shmem_team_t, TYPE *, const TYPE *, size_t) = TYPED_CXX(shmem_, _fcollect);
    const TYPE a = 42, b = 77;
    TYPE *cell = static_cast<TYPE *>(arena);

    shmem_barrier_all();
    put(cell, &a, 1, right);
    p(ctx, cell + 1, b, right);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    check(cell[0] == a && cell[1] == b, "put or ctx_p of the left PE did not store its value");
    check(g(cell, right) == a, "pshmem g did not return the value of the right PE");
    check(fcollect(SHMEM_TEAM_WORLD, cell + 2, cell, 1) == 0, "fcollect did not return 0");
    check(cell[2] == a && cell[1 + n_pes] == a, "fcollect has a wrong result");
    shmem_barrier_all();

    /* The overloads: of this type, with and without a context. */
    static_assert(std::is_same<decltype(shmem_g(cell, 0)), TYPE>::value, "shmem_g has its type");
    static_assert(std::is_same<decltype(shmem_g(ctx, &a, 0)), TYPE>::value, "with a context too");
    shmem_put(cell + 1, &a, 1, right);
    shmem_put(ctx, cell, &b, 1, right);
    shmem_p(cell + 2, b, right);
    shmem_put_nbi(ctx, cell + 3, NULL, 0, right);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    check(cell[0] == b && cell[1] == a && cell[2] == b,
          "an overload of shmem_put or shmem_p did not store its value");
    check(shmem_g(cell, right) == b && shmem_g(ctx, cell + 1, right) == a,
          "an overload of shmem_g returned a wrong value");
    check(shmem_max_reduce(SHMEM_TEAM_WORLD, cell + 3, cell, 2) == 0,
          "the overload of shmem_max_reduce did not return 0");
    check(cell[3] == b && cell[4] == a, "the overload of shmem_max_reduce has a wrong result");
    shmem_barrier_all();
}
