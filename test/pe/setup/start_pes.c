/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The old start: start_pes may be called again, needs no finalize, and the program's own return
 * value is the job's. Also the oldest query names. Rule R13.
 */
#include "pe_data.h"

static long cell;

int main(void)
{
    start_pes(0);
    start_pes(17); /* the count is ignored, a second call does nothing */
    pe_test_attach();
    PE_CHECK_EQ(_my_pe(), pe_me);
    PE_CHECK_EQ(_num_pes(), pe_n);
    shmem_long_p(&cell, 40 + pe_me, pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(cell, 40 + pe_left());
    return pe_test_verdict();
}
