/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get of elements as stream_api.c says, in the order of a stream. */

void STREAM_FN(put, _on_stream)(ELEM *dest, const ELEM *source, size_t nelems, int pe, void *stream)
{
    stp_stream_put(dest, source, stp_bytes(nelems, ELEM_SIZE, __func__), pe, false, stream,
                   __func__);
}
STREAM_PUBLISH(put, _on_stream);

void STREAM_FN(put, _nbi_on_stream)(ELEM *dest, const ELEM *source, size_t nelems, int pe,
                                    void *stream)
{
    stp_stream_put(dest, source, stp_bytes(nelems, ELEM_SIZE, __func__), pe, true, stream,
                   __func__);
}
STREAM_PUBLISH(put, _nbi_on_stream);

void STREAM_FN(get, _on_stream)(ELEM *dest, const ELEM *source, size_t nelems, int pe, void *stream)
{
    stp_stream_get(dest, source, stp_bytes(nelems, ELEM_SIZE, __func__), pe, false, stream,
                   __func__);
}
STREAM_PUBLISH(get, _on_stream);

void STREAM_FN(get, _nbi_on_stream)(ELEM *dest, const ELEM *source, size_t nelems, int pe,
                                    void *stream)
{
    stp_stream_get(dest, source, stp_bytes(nelems, ELEM_SIZE, __func__), pe, true, stream,
                   __func__);
}
STREAM_PUBLISH(get, _nbi_on_stream);
