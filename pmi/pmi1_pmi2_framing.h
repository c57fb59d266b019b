/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two framings of PMI on one socket, bounded in size and time: lines (PMI-1, and the greeting
 * of both versions) and messages after a six-character length (PMI-2). This module also reads
 * key=value fields. The module logs nothing, because only the caller knows the request.
 */
#ifndef STP_PMI1_PMI2_FRAMING_H
#define STP_PMI1_PMI2_FRAMING_H

#include "base/base.h"

#include <stdarg.h>

#define STP_WIRE_TEXT_MAX 65536 /* bytes of the longest reply; mappings of big jobs are long */
#define STP_WIRE_SEND_MAX 4096  /* longest request */
#define STP_WIRE_FOREVER (-1)

enum stp_wire_framing { STP_WIRE_LINE, STP_WIRE_MESSAGE };

struct stp_wire {
    int fd;                       /* duplicate that only this library uses, closed on exec */
    char text[STP_WIRE_TEXT_MAX]; /* last reply, always terminated */
};

/*
 * Duplicates fd, because other users of the connection may close their own descriptor. Returns 0 or
 * -errno (-EBADF: not open, -ENOTSOCK: not a socket).
 */
int stp_wire_open(struct stp_wire *wire, int fd);
void stp_wire_close(struct stp_wire *wire);

/* Returns true if fd is one end of a connected socketpair, as launchers leave to processes. */
bool stp_wire_is_pair(int fd);

/*
 * Sends one request; adds the newline of a line or the length of a message. Never raises SIGPIPE.
 * Returns 0, -EIO if the peer is gone, or -EMSGSIZE above STP_WIRE_SEND_MAX.
 */
int stp_wire_send(struct stp_wire *wire, enum stp_wire_framing framing, const char *fmt, ...)
    STP_PRINTF(3, 4);
int stp_wire_vsend(struct stp_wire *wire, enum stp_wire_framing framing, const char *fmt,
                   va_list args) STP_PRINTF(3, 0);

/*
 * Receives one reply into wire->text and removes its newline. Each request has one reply, and no
 * byte after the reply is read, so that several users can share the connection in turns.
 * timeout_ms: time limit for the whole reply, or STP_WIRE_FOREVER.
 * Returns 0, -EIO (closed, even in the middle of a reply), -ETIMEDOUT, or -EPROTO (too long, a
 * length that is no number, a zero byte inside).
 */
int stp_wire_recv_line(struct stp_wire *wire, int timeout_ms);
int stp_wire_recv_message(struct stp_wire *wire, int timeout_ms);

/*
 * Copies the value of field name ("name=value", fields divided by separator) from text. Returns 0,
 * -ENOENT if the field does not exist, or -EMSGSIZE if the buffer is too small for the value.
 */
int stp_wire_field(const char *text, char separator, const char *name, char *value,
                   size_t capacity);

/* Reads a field as a decimal number. Returns 0, -ENOENT, or -EPROTO if the value is no int. */
int stp_wire_number(const char *text, char separator, const char *name, int *number);

/* Parses a whole string as a decimal int, without blanks. Returns 0 or -EPROTO. */
int stp_wire_parse_int(const char *text, int *number);

#endif /* STP_PMI1_PMI2_FRAMING_H */
