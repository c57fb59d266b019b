/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blackboard: bytes of any value and number under a name, carried as hexadecimal text
 * in pieces of what the launcher takes. The first piece begins with the total length, so
 * readers need not agree with the writer on the size of a piece.
 * Design: docs/design/launch.md.
 */
#include "pmi/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEADER_CHARS 16 /* the length, a 64-bit number in hexadecimal */

static void board_key(char *key, const char *name, size_t piece)
{
    snprintf(key, STP_PMI_KEY_MAX, "stp:%s:%zu", name, piece);
}

static void board_encode(const unsigned char *bytes, size_t nbytes, char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < nbytes; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}

static int board_nibble(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

/* Two characters a byte, nbytes of them. Returns 0 or -EPROTO. */
static int board_decode(const char *text, unsigned char *bytes, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) {
        int high = board_nibble(text[2 * i]);
        int low = high < 0 ? -1 : board_nibble(text[2 * i + 1]);

        if (low < 0) return -EPROTO;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return 0;
}

int stp_board_put(const struct stp_pmi_client *client, struct stp_pmi_session *session,
                  const char *name, const void *data, size_t nbytes)
{
    const unsigned char *bytes = data;
    char key[STP_PMI_KEY_MAX];
    char value[STP_PMI_VALUE_MAX + 1];
    size_t header = HEADER_CHARS;
    size_t done = 0;

    snprintf(value, sizeof(value), "%016" PRIx64, (uint64_t)nbytes);
    for (size_t piece = 0; piece == 0 || done < nbytes; piece++) {
        size_t n = (session->value_max - header) / 2;
        int rc;

        if (n > nbytes - done) n = nbytes - done;
        board_encode(bytes + done, n, value + header);
        board_key(key, name, piece);
        rc = client->put(session, key, value);
        if (rc) return rc;
        done += n;
        header = 0;
    }
    return 0;
}

static int board_bad(const char *name, size_t piece, const char *what)
{
    stp_error("pmi: piece %zu of key %s from the launcher is unusable: %s", piece, name, what);
    return -EPROTO;
}

/* The length in front of the first piece. */
static int board_length(const char *name, const char *value, uint64_t *length)
{
    unsigned char bytes[HEADER_CHARS / 2];

    if (strlen(value) < HEADER_CHARS || board_decode(value, bytes, sizeof(bytes)))
        return board_bad(name, 0, "it does not begin with a length");
    *length = 0;
    for (size_t i = 0; i < sizeof(bytes); i++)
        *length = *length << 8 | bytes[i];
    return 0;
}

/* Read the hexadecimal text of one piece behind at; *done grows by its bytes. */
static int board_add(const char *name, size_t piece, const char *text, unsigned char *bytes,
                     size_t length, size_t *done)
{
    size_t chars = strlen(text);

    if (chars % 2 != 0 || chars / 2 > length - *done)
        return board_bad(name, piece, "it is longer than the length says");
    if (chars == 0 && *done < length) return board_bad(name, piece, "it is empty");
    if (board_decode(text, bytes + *done, chars / 2))
        return board_bad(name, piece, "it is not hexadecimal");
    *done += chars / 2;
    return 0;
}

int stp_board_get(const struct stp_pmi_client *client, struct stp_pmi_session *session, int rank,
                  const char *name, void *data, size_t capacity, size_t *nbytes)
{
    char key[STP_PMI_KEY_MAX];
    char value[STP_PMI_VALUE_MAX + 1];
    uint64_t length;
    size_t done = 0;
    int rc;

    board_key(key, name, 0);
    rc = client->get(session, rank, key, value, sizeof(value));
    if (!rc) rc = board_length(name, value, &length);
    if (rc) return rc;
    if (length > capacity) return -EMSGSIZE;
    rc = board_add(name, 0, value + HEADER_CHARS, data, (size_t)length, &done);
    for (size_t piece = 1; !rc && done < length; piece++) {
        board_key(key, name, piece);
        rc = client->get(session, rank, key, value, sizeof(value));
        if (rc == -ENOENT) return board_bad(name, piece, "it is missing");
        if (!rc) rc = board_add(name, piece, value, data, (size_t)length, &done);
    }
    if (!rc) *nbytes = (size_t)length;
    return rc;
}
