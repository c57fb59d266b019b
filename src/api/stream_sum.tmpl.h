/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the sum reduction of one TYPE that runs in the order of a device stream. */

int STP_FN(sum_reduce_on_stream)(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce,
                                 void *stream)
{
    return stp_stream_reduce(team, STP_SUM, STP_DTYPE(TYPE), dest, source, nreduce, stream,
                             __func__);
}
STP_PUBLISH_ONE(sum_reduce_on_stream);
