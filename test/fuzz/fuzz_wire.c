/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: replies of the launcher in both framings. Input: a byte of choices, then the bytes
 * that the launcher sends before it closes. Each reply is compared with these bytes, and its fields
 * are read.
 */
#include "fuzz.h"

#include "pmi/pmi1_pmi2_framing.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGES = 1, LONG = 2 };

#define MOST 20                    /* replies of one input: each looks at all that is there */
#define LONG_BYTES ((size_t)70000) /* more than a reply may have */

static struct stp_wire wire;

/* The input again and again. */
static uint8_t *repeated(const uint8_t *data, size_t nbytes)
{
    uint8_t *all = malloc(LONG_BYTES);

    FUZZ_CHECK(all != NULL);
    for (size_t i = 0; i < LONG_BYTES; i++)
        all[i] = data[i % nbytes];
    return all;
}

static void check_field(char separator, const char *name, size_t capacity)
{
    char *value = malloc(capacity), *whole;
    int number, rc = stp_wire_field(wire.text, separator, name, value, capacity);

    FUZZ_CHECK(value != NULL);
    FUZZ_CHECK(rc == 0 || rc == -ENOENT || rc == -EMSGSIZE);
    if (rc == 0) {
        size_t len = strlen(value), name_len = strlen(name);

        FUZZ_CHECK(len < capacity && strchr(value, separator) == NULL);
        whole = malloc(name_len + len + 2);
        FUZZ_CHECK(whole != NULL);
        sprintf(whole, "%s=%s", name, value);
        FUZZ_CHECK(strstr(wire.text, whole) != NULL);
        free(whole);
    }
    rc = stp_wire_number(wire.text, separator, name, &number);
    FUZZ_CHECK(rc == 0 || rc == -ENOENT || rc == -EPROTO);
    free(value);
}

static void check_fields(void)
{
    static const char *const names[] = {"cmd", "rc", "value", "a"};
    int number;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        check_field(' ', names[i], 1);
        check_field(' ', names[i], 64);
        check_field(';', names[i], 8);
    }
    (void)stp_wire_parse_int(wire.text, &number);
}

/* Receive replies; sent: what the launcher says. */
static void receive(const uint8_t *sent, size_t nbytes, int messages)
{
    size_t at = 0;

    for (int i = 0; i < MOST; i++) {
        size_t len;
        int rc;

        rc = messages ? stp_wire_recv_message(&wire, 1000) : stp_wire_recv_line(&wire, 1000);
        FUZZ_CHECK(memchr(wire.text, '\0', sizeof(wire.text)) != NULL);
        FUZZ_CHECK(rc == 0 || rc == -EIO || rc == -EPROTO);
        if (rc != 0) break;
        len = strlen(wire.text);
        at += messages ? 6 : 0;
        FUZZ_CHECK(at + len <= nbytes && memcmp(wire.text, sent + at, len) == 0);
        at += len + !messages;
        FUZZ_CHECK(messages || (at <= nbytes && sent[at - 1] == '\n'));
        check_fields();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    uint8_t choices, *all = NULL;
    int pair[2];

    fuzz_take(&data, &nbytes, &choices, 1);
    if (nbytes == 0) return 0;
    if (choices & LONG || nbytes > LONG_BYTES) {
        data = all = repeated(data, nbytes);
        nbytes = LONG_BYTES;
    }
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    FUZZ_CHECK(stp_wire_open(&wire, pair[0]) == 0);
    FUZZ_CHECK(write(pair[1], data, nbytes) == (ssize_t)nbytes);
    close(pair[1]);
    receive(data, nbytes, choices & MESSAGES);
    stp_wire_close(&wire);
    close(pair[0]);
    free(all);
    return 0;
}
