/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks start_pes, _my_pe and _num_pes (OpenSHMEM 1.6, section 9.1.13; rule R13 of
 * docs/reference/conformance.md): start_pes may be called twice, ignores its argument and needs no
 * finalize, and the return value of main is the status of the PE.
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
