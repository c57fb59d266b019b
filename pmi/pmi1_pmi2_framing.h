/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends and receives data over the launcher's socket in the two framings of PMI, with limits of
 * size and time. PMI-1, and the greeting of both versions, use lines. PMI-2 uses messages, which
 * begin with their length in six characters. This module also reads fields of the form key=value.
 * The module logs nothing, because only the caller knows the meaning of a request.
 */
#ifndef STP_PMI1_PMI2_FRAMING_H
#define STP_PMI1_PMI2_FRAMING_H

#include "base/base.h"

#include <stdarg.h>

#define STP_WIRE_TEXT_MAX 65536 /* most bytes of a reply, such as a large mapping vector */
#define STP_WIRE_SEND_MAX 4096  /* bytes of the longest request */
#define STP_WIRE_FOREVER (-1)

enum stp_wire_framing { STP_WIRE_LINE, STP_WIRE_MESSAGE };

struct stp_wire {
    int fd;                       /* library's own descriptor of the socket, closed on exec */
    char text[STP_WIRE_TEXT_MAX]; /* last reply, always with a terminating zero byte */
};

/*
 * Duplicates fd, the descriptor of the launcher's socket, because other users of the connection may
 * close fd. Returns 0, -EBADF if fd is not open, -ENOTSOCK if fd is not a socket, or another
 * -errno.
 */
int stp_wire_open(struct stp_wire *wire, int fd);
void stp_wire_close(struct stp_wire *wire);

/*
 * Returns true if fd is one end of a connected socketpair. Launchers create such a pair for each
 * process.
 */
bool stp_wire_is_pair(int fd);

/*
 * Sends one request. Adds the newline after a line or the length before a message. Never raises
 * SIGPIPE. Returns 0, -EIO if the launcher has closed the connection, or -EMSGSIZE if the request
 * is longer than STP_WIRE_SEND_MAX.
 */
int stp_wire_send(struct stp_wire *wire, enum stp_wire_framing framing, const char *fmt, ...)
    STP_PRINTF(3, 4);
int stp_wire_vsend(struct stp_wire *wire, enum stp_wire_framing framing, const char *fmt,
                   va_list args) STP_PRINTF(3, 0);

/*
 * Receives the reply to one request into wire->text. The reply is a line, and the function removes
 * the newline. It reads no bytes after the line, so that several libraries can use the connection
 * in turns.
 * timeout_ms: time limit for the whole reply, or STP_WIRE_FOREVER.
 * Returns 0 or -ETIMEDOUT. Returns -EIO if the connection is closed before the end of the reply.
 * Returns -EPROTO if the reply is too long or contains a zero byte.
 */
int stp_wire_recv_line(struct stp_wire *wire, int timeout_ms);
/*
 * Does the same as stp_wire_recv_line() for a reply that is a message. Returns -EPROTO also if the
 * length before the message is not a number.
 */
int stp_wire_recv_message(struct stp_wire *wire, int timeout_ms);

/*
 * Searches text for the field with this name, and copies its value to the buffer value, which has
 * capacity bytes. The text consists of fields of the form "name=value", with the character
 * separator between them. Returns 0, -ENOENT if there is no such field, or -EMSGSIZE if the value
 * is too long for the buffer.
 */
int stp_wire_field(const char *text, char separator, const char *name, char *value,
                   size_t capacity);

/*
 * Reads the value of a field as a decimal number. Returns 0, -ENOENT if there is no such field, or
 * -EPROTO if the value is not an int.
 */
int stp_wire_number(const char *text, char separator, const char *name, int *number);

/* Parses text, which must be a decimal int without blanks. Returns 0 or -EPROTO. */
int stp_wire_parse_int(const char *text, int *number);

#endif /* STP_PMI1_PMI2_FRAMING_H */
