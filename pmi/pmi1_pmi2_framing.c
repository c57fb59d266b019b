/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends and receives lines (PMI-1) and messages (PMI-2) over the launcher's socket, with limits of
 * size and time. This file owns the library's descriptor of the socket and the buffer for replies.
 * It does not know the commands of the protocols. Design: docs/design/launch.md.
 */
#include "pmi/pmi1_pmi2_framing.h"

#include "pmi/pmi.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LENGTH_CHARS 6
#define NS_PER_MS INT64_C(1000000)
#define STEP_MS 1000
#define IDLE_MS 250 /* milliseconds between two calls of wire_idle() */

int stp_wire_open(struct stp_wire *wire, int fd)
{
    struct stat st;

    wire->fd = -1;
    wire->text[0] = '\0';
    if (fstat(fd, &st) < 0) return -errno;
    if (!S_ISSOCK(st.st_mode)) return -ENOTSOCK;
    wire->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return wire->fd < 0 ? -errno : 0;
}

void stp_wire_close(struct stp_wire *wire)
{
    if (wire->fd >= 0) close(wire->fd);
    wire->fd = -1;
}

bool stp_wire_is_pair(int fd)
{
    struct sockaddr_un peer;
    socklen_t len = sizeof(peer);

    if (fd < 0 || getpeername(fd, (struct sockaddr *)&peer, &len) < 0) return false;
    /* An end of a socketpair has no address, so the kernel returns only the address family. */
    return peer.sun_family == AF_UNIX && len == sizeof(peer.sun_family);
}

static void (*wire_idle)(void);

void stp_pmi_set_idle(void (*idle)(void))
{
    wire_idle = idle;
}

/*
 * Waits until fd is ready, but at most *remaining_ns nanoseconds. If *remaining_ns is negative, the
 * wait has no limit. Subtracts the time of the wait from *remaining_ns. Returns 0, -EIO or
 * -ETIMEDOUT. The function waits in steps of at most STEP_MS. It subtracts at most the planned time
 * of each step, even if the step takes longer. A step takes longer if a virtual machine or a
 * stopped job pauses, and such a pause must not cause a timeout.
 */
static int wire_wait(int fd, short events, int64_t *remaining_ns)
{
    struct pollfd item = {.fd = fd, .events = events};

    for (;;) {
        int64_t step = *remaining_ns < STEP_MS * NS_PER_MS ? *remaining_ns : STEP_MS * NS_PER_MS;
        uint64_t before = stp_now_ns();
        int n = poll(&item, 1,
                     *remaining_ns >= 0  ? (int)((step + NS_PER_MS - 1) / NS_PER_MS)
                     : wire_idle != NULL ? IDLE_MS
                                         : -1);

        if (n > 0) return 0;
        if (n == 0 && *remaining_ns < 0 && wire_idle != NULL) wire_idle();
        if (n < 0 && errno != EINTR) return -EIO;
        if (*remaining_ns >= 0) {
            int64_t spent = (int64_t)(stp_now_ns() - before);

            *remaining_ns -= spent < step ? spent : step;
            if (*remaining_ns <= 0) return -ETIMEDOUT;
        }
    }
}

static int64_t wire_time(int timeout_ms)
{
    return timeout_ms < 0 ? -1 : timeout_ms * NS_PER_MS;
}

/* Reads at least one byte and at most capacity bytes. Returns 0, -EIO or -ETIMEDOUT. */
static int wire_read(struct stp_wire *wire, char *bytes, size_t capacity, int flags,
                     int64_t *remaining_ns, size_t *n_read)
{
    for (;;) {
        int rc = wire_wait(wire->fd, POLLIN, remaining_ns);
        ssize_t n;

        if (rc != 0) return rc;
        n = recv(wire->fd, bytes, capacity, flags | MSG_DONTWAIT);
        if (n > 0) {
            *n_read = (size_t)n;
            return 0;
        }
        if (n == 0) return -EIO;
        if (errno != EINTR && errno != EAGAIN) return -EIO;
    }
}

static int wire_read_all(struct stp_wire *wire, char *bytes, size_t nbytes, int64_t *remaining_ns)
{
    while (nbytes > 0) {
        size_t n;
        int rc = wire_read(wire, bytes, nbytes, 0, remaining_ns, &n);

        if (rc != 0) return rc;
        bytes += n;
        nbytes -= n;
    }
    return 0;
}

static int wire_write_all(struct stp_wire *wire, const char *bytes, size_t nbytes)
{
    while (nbytes > 0) {
        ssize_t n = send(wire->fd, bytes, nbytes, MSG_NOSIGNAL);

        if (n > 0) {
            bytes += n;
            nbytes -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            int64_t remaining_ns = wire_time(STP_WIRE_FOREVER);
            int rc = wire_wait(wire->fd, POLLOUT, &remaining_ns);

            if (rc != 0) return rc;
        } else if (n == 0 || errno != EINTR) {
            return -EIO;
        }
    }
    return 0;
}

int stp_wire_vsend(struct stp_wire *wire, enum stp_wire_framing framing, const char *fmt,
                   va_list args)
{
    char text[LENGTH_CHARS + STP_WIRE_SEND_MAX], length[LENGTH_CHARS + 1];
    int n = vsnprintf(text + LENGTH_CHARS, STP_WIRE_SEND_MAX, fmt, args);

    if (n < 0 || n >= STP_WIRE_SEND_MAX) return -EMSGSIZE;
    if (framing == STP_WIRE_LINE) {
        text[LENGTH_CHARS + n] = '\n';
        return wire_write_all(wire, text + LENGTH_CHARS, (size_t)n + 1);
    }
    snprintf(length, sizeof(length), "%*d", LENGTH_CHARS, n % 1000000);
    memcpy(text, length, LENGTH_CHARS);
    return wire_write_all(wire, text, LENGTH_CHARS + (size_t)n);
}

int stp_wire_send(struct stp_wire *wire, enum stp_wire_framing framing, const char *fmt, ...)
{
    va_list args;
    int rc;

    va_start(args, fmt);
    rc = stp_wire_vsend(wire, framing, fmt, args);
    va_end(args);
    return rc;
}

/*
 * First peeks at the received bytes, and then reads only the bytes up to the newline. Later bytes
 * stay in the socket, because they can be a reply for another library. If the launcher has sent
 * them by mistake, the next call reads them and finds a malformed reply.
 */
int stp_wire_recv_line(struct stp_wire *wire, int timeout_ms)
{
    int64_t remaining_ns = wire_time(timeout_ms);
    size_t used = 0;

    wire->text[0] = '\0';
    while (used < STP_WIRE_TEXT_MAX - 1) {
        char *pos = wire->text + used;
        size_t n;
        char *end;
        int rc = wire_read(wire, pos, STP_WIRE_TEXT_MAX - 1 - used, MSG_PEEK, &remaining_ns, &n);

        if (rc != 0) return rc;
        end = memchr(pos, '\n', n);
        if (end) n = (size_t)(end - pos) + 1;
        rc = wire_read_all(wire, pos, n, &remaining_ns);
        if (rc != 0) return rc;
        used += n;
        wire->text[end ? used - 1 : used] = '\0';
        if (end) return strlen(wire->text) == used - 1 ? 0 : -EPROTO;
    }
    return -EPROTO;
}

/* Parses the length of a message. Ignores blanks before and after it. Returns 0 or -EPROTO. */
static int wire_parse_length(const char *digits, size_t *length)
{
    size_t value = 0;
    size_t i = strspn(digits, " ");
    size_t start = i;

    for (; digits[i] >= '0' && digits[i] <= '9'; i++)
        value = value * 10 + (size_t)(digits[i] - '0');
    if (i == start || value == 0 || value >= STP_WIRE_TEXT_MAX) return -EPROTO;
    if (i + strspn(digits + i, " ") != LENGTH_CHARS) return -EPROTO;
    *length = value;
    return 0;
}

int stp_wire_recv_message(struct stp_wire *wire, int timeout_ms)
{
    int64_t remaining_ns = wire_time(timeout_ms);
    size_t length;
    int rc;

    wire->text[0] = '\0';
    rc = wire_read_all(wire, wire->text, LENGTH_CHARS, &remaining_ns);
    wire->text[rc ? 0 : LENGTH_CHARS] = '\0';
    if (rc == 0) rc = wire_parse_length(wire->text, &length);
    if (rc != 0) return rc;
    rc = wire_read_all(wire, wire->text, length, &remaining_ns);
    wire->text[rc ? 0 : length] = '\0';
    if (rc != 0) return rc;
    return strlen(wire->text) == length ? 0 : -EPROTO;
}

int stp_wire_field(const char *text, char separator, const char *name, char *value, size_t capacity)
{
    const char stop[2] = {separator, '\0'};
    size_t name_len = strlen(name);

    for (;;) {
        size_t len = strcspn(text, stop);

        if (len > name_len && text[name_len] == '=' && memcmp(text, name, name_len) == 0) {
            len -= name_len + 1;
            if (len >= capacity) return -EMSGSIZE;
            memcpy(value, text + name_len + 1, len);
            value[len] = '\0';
            return 0;
        }
        if (text[len] == '\0') return -ENOENT;
        text += len + 1;
    }
}

int stp_wire_parse_int(const char *text, int *number)
{
    char *end;
    long value;

    if (text[0] != '-' && (text[0] < '0' || text[0] > '9')) return -EPROTO;
    errno = 0;
    value = strtol(text, &end, 10);
    if (errno || end == text || *end != '\0' || value < INT_MIN || value > INT_MAX) return -EPROTO;
    *number = (int)value;
    return 0;
}

int stp_wire_number(const char *text, char separator, const char *name, int *number)
{
    char value[24];
    int rc = stp_wire_field(text, separator, name, value, sizeof(value));

    if (rc != 0) return rc == -EMSGSIZE ? -EPROTO : rc;
    return stp_wire_parse_int(value, number);
}
