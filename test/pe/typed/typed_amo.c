/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks each atomic routine of each type, with and without a context, and under the names of
 * older standards (OpenSHMEM 1.6, section 9.7).
 */
#include "typed.h"

#define TEMPLATE "typed/typed_value.tmpl.h"
#include "gen/types_amo_ext.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_amo_ext.tmpl.h"
#include "gen/types_amo_ext.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_amo.tmpl.h"
#include "gen/types_amo.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_amo_bit.tmpl.h"
#include "gen/types_amo_bit.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_amo_old_ext.tmpl.h"
#include "gen/types_old_ext.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_amo_old.tmpl.h"
#include "gen/types_old.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_run.tmpl.h"
static void typed_amo_all(shmem_ctx_t ctx)
{
#define RUN _amo_ext
#include "gen/types_amo_ext.h"
#undef RUN
#define RUN _amo
#include "gen/types_amo.h"
#undef RUN
#define RUN _amo_bit
#include "gen/types_amo_bit.h"
#undef RUN
#define RUN _amo_old_ext
#include "gen/types_old_ext.h"
#undef RUN
#define RUN _amo_old
#include "gen/types_old.h"
#undef RUN
}
#undef TEMPLATE

int main(void)
{
    shmem_ctx_t ctx;

    typed_begin();
    ctx = pe_ctx(0);
    typed_amo_all(ctx);
    typed_amo_all(SHMEM_CTX_DEFAULT);
    shmem_ctx_destroy(ctx);
    return typed_end();
}
