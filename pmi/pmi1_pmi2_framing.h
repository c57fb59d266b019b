/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two framings of the PMI wire on one socket, bounded in space and time: lines
 * (PMI-1, and the greeting of both) and messages behind a six-character length (PMI-2).
 * Also reads the key=value fields of both. Logs nothing: the caller knows what it asked.
 */
#ifndef STP_PMI1_PMI2_FRAMING_H
#define STP_PMI1_PMI2_FRAMING_H

#include "base/base.h"

#include <stdarg.h>

#define STP_WIRE_TEXT_MAX 65536 /* longest reply, with its end; mappings of big jobs are long */
#define STP_WIRE_SEND_MAX 4096  /* longest request */
#define STP_WIRE_FOREVER (-1)

enum stp_wire_framing { STP_WIRE_LINE, STP_WIRE_MESSAGE };

struct stp_wire {
    int fd;                       /* ours alone: a duplicate, closed on exec */
    char text[STP_WIRE_TEXT_MAX]; /* the last reply, always terminated */
};

/*
 * Take a duplicate of fd, so that whoever shares the connection may close its own number.
 * Returns 0 or -errno (-EBADF: not open, -ENOTSOCK: not a socket).
 */
int stp_wire_open(struct stp_wire *wire, int fd);
void stp_wire_close(struct stp_wire *wire);

/* Whether fd is what launchers leave: one end of a socketpair, still connected. */
bool stp_wire_is_pair(int fd);

/*
 * Send one request: the line gets its newline, the message its length. Never raises SIGPIPE.
 * Returns 0, -EIO when the other side is gone, -EMSGSIZE when longer than STP_WIRE_SEND_MAX.
 */
int stp_wire_send(struct stp_wire *wire, enum stp_wire_framing framing, const char *fmt, ...)
    STP_PRINTF(3, 4);
int stp_wire_vsend(struct stp_wire *wire, enum stp_wire_framing framing, const char *fmt,
                   va_list args) STP_PRINTF(3, 0);

/*
 * Receive one reply into wire->text, its newline removed. The protocol is strict question and
 * answer: nothing is read past the reply's end, so the connection can be shared in turns.
 * timeout_ms: STP_WIRE_FOREVER, or how long the whole reply may take.
 * Returns 0, -EIO (closed, even in the middle of a reply), -ETIMEDOUT, or -EPROTO (too long,
 * a length that is no number, a zero byte inside).
 */
int stp_wire_recv_line(struct stp_wire *wire, int timeout_ms);
int stp_wire_recv_message(struct stp_wire *wire, int timeout_ms);

/*
 * Copy the value of field name ("name=value", fields parted by separator) out of text.
 * Returns 0, -ENOENT when there is no such field, -EMSGSIZE when value is too small for it.
 */
int stp_wire_field(const char *text, char separator, const char *name, char *value,
                   size_t capacity);

/* The same for a decimal number. -EPROTO when the value is no int. */
int stp_wire_number(const char *text, char separator, const char *name, int *number);

/* A whole string as a decimal int, nothing around it. Returns 0 or -EPROTO. */
int stp_wire_parse_int(const char *text, int *number);

#endif /* STP_PMI1_PMI2_FRAMING_H */
