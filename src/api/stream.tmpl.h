/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get of one TYPE in the order of a stream. */

void STP_FN(put_on_stream)(TYPE *dest, const TYPE *source, size_t nelems, int pe, void *stream)
{
    stp_stream_put(dest, source, stp_bytes(nelems, sizeof(TYPE), __func__), pe, false, stream,
                   __func__);
}
STP_PUBLISH_ONE(put_on_stream);

void STP_FN(put_nbi_on_stream)(TYPE *dest, const TYPE *source, size_t nelems, int pe, void *stream)
{
    stp_stream_put(dest, source, stp_bytes(nelems, sizeof(TYPE), __func__), pe, true, stream,
                   __func__);
}
STP_PUBLISH_ONE(put_nbi_on_stream);

void STP_FN(get_on_stream)(TYPE *dest, const TYPE *source, size_t nelems, int pe, void *stream)
{
    stp_stream_get(dest, source, stp_bytes(nelems, sizeof(TYPE), __func__), pe, false, stream,
                   __func__);
}
STP_PUBLISH_ONE(get_on_stream);

void STP_FN(get_nbi_on_stream)(TYPE *dest, const TYPE *source, size_t nelems, int pe, void *stream)
{
    stp_stream_get(dest, source, stp_bytes(nelems, sizeof(TYPE), __func__), pe, true, stream,
                   __func__);
}
STP_PUBLISH_ONE(get_nbi_on_stream);
