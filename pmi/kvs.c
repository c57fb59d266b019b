/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the key-value space. Data can have any length and contain any bytes. It is stored as
 * hexadecimal text, which is cut into fragments that the launcher accepts. The first fragment
 * begins with the total length of the data. Therefore a reader need not know the size of the
 * writer's fragments. Design: docs/design/launch.md.
 */
#include "pmi/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEADER_CHARS 16 /* hexadecimal digits of the total length, a 64-bit number */

static void kvs_key(char *key, const char *name, size_t fragment)
{
    snprintf(key, STP_PMI_KEY_MAX, "stp:%s:%zu", name, fragment);
}

static void kvs_encode(const unsigned char *bytes, size_t nbytes, char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < nbytes; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}

static int kvs_nibble(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

/* Decodes nbytes bytes from hexadecimal text. Returns 0, or -EPROTO if text is malformed. */
static int kvs_decode(const char *text, unsigned char *bytes, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) {
        int high = kvs_nibble(text[2 * i]);
        int low = high < 0 ? -1 : kvs_nibble(text[2 * i + 1]);

        if (low < 0) return -EPROTO;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return 0;
}

int stp_kvs_put(const struct stp_pmi_client *client, struct stp_pmi_session *session,
                const char *name, const void *data, size_t nbytes)
{
    const unsigned char *bytes = data;
    char key[STP_PMI_KEY_MAX];
    char value[STP_PMI_VALUE_MAX + 1];
    size_t header = HEADER_CHARS;
    size_t n_sent = 0;

    snprintf(value, sizeof(value), "%016" PRIx64, (uint64_t)nbytes);
    for (size_t fragment = 0; fragment == 0 || n_sent < nbytes; fragment++) {
        size_t n = (session->value_max - header) / 2;
        int rc;

        if (n > nbytes - n_sent) n = nbytes - n_sent;
        kvs_encode(bytes + n_sent, n, value + header);
        kvs_key(key, name, fragment);
        rc = client->put(session, key, value);
        if (rc != 0) return rc;
        n_sent += n;
        header = 0;
    }
    return 0;
}

static int kvs_bad(const char *name, size_t fragment, const char *fault)
{
    stp_error("pmi: cannot use the value of the key stp:%s:%zu from the launcher: %s", name,
              fragment, fault);
    return -EPROTO;
}

/* Reads the total length at the start of value. Returns 0, or -EPROTO after logging the error. */
static int kvs_length(const char *name, const char *value, uint64_t *length)
{
    unsigned char bytes[HEADER_CHARS / 2];

    if (strlen(value) < HEADER_CHARS || kvs_decode(value, bytes, sizeof(bytes)))
        return kvs_bad(name, 0,
                       "its first 16 characters, the length of the data, are not hexadecimal "
                       "digits");
    *length = 0;
    for (size_t i = 0; i < sizeof(bytes); i++)
        *length = *length << 8 | bytes[i];
    return 0;
}

/*
 * Decodes the text of one fragment. Stores the bytes at bytes + *n_decoded, and adds their number
 * to *n_decoded. Returns 0, or -EPROTO after logging the error.
 */
static int kvs_add(const char *name, size_t fragment, const char *text, unsigned char *bytes,
                   size_t length, size_t *n_decoded)
{
    size_t chars = strlen(text);

    if (chars % 2 != 0 || chars / 2 > length - *n_decoded)
        return kvs_bad(name, fragment,
                       "it has an odd number of digits, or more digits than the length of the "
                       "data allows");
    if (chars == 0 && *n_decoded < length) return kvs_bad(name, fragment, "it is empty");
    if (kvs_decode(text, bytes + *n_decoded, chars / 2))
        return kvs_bad(name, fragment, "the value has characters that are not hexadecimal digits");
    *n_decoded += chars / 2;
    return 0;
}

int stp_kvs_get(const struct stp_pmi_client *client, struct stp_pmi_session *session, int rank,
                const char *name, void *data, size_t capacity, size_t *nbytes)
{
    char key[STP_PMI_KEY_MAX];
    char value[STP_PMI_VALUE_MAX + 1];
    uint64_t length;
    size_t n_decoded = 0;
    int rc;

    kvs_key(key, name, 0);
    rc = client->get(session, rank, key, value, sizeof(value));
    if (rc == 0) rc = kvs_length(name, value, &length);
    if (rc != 0) return rc;
    if (length > capacity) return -EMSGSIZE;
    rc = kvs_add(name, 0, value + HEADER_CHARS, data, (size_t)length, &n_decoded);
    for (size_t fragment = 1; !rc && n_decoded < length; fragment++) {
        kvs_key(key, name, fragment);
        rc = client->get(session, rank, key, value, sizeof(value));
        if (rc == -ENOENT) return kvs_bad(name, fragment, "the launcher does not have this key");
        if (rc == 0) rc = kvs_add(name, fragment, value, data, (size_t)length, &n_decoded);
    }
    if (rc == 0) *nbytes = (size_t)length;
    return rc;
}
