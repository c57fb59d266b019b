/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The input of wordcount. Every PE may read any byte of any file; which PE counts a word is
 * decided by the byte at which the word starts, so no word is lost or counted twice however the
 * text is cut.
 */
#include "wordcount_text.h"

#include <shmem.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES (256 * 1024)

static int text_failed; /* on PE 0; sent to all */

/* ---- files --------------------------------------------------------------- */

static int say_file(const char *path, const char *what)
{
    fprintf(stderr, "wordcount: PE %d: %s: %s\n", shmem_my_pe(), path, what);
    return -1;
}

/*
 * Size of a file that can be divided by bytes. A pipe cannot, nor can a file whose size the
 * system does not know (those of /proc say 0 and hold something).
 */
static int file_size(const char *path, uint64_t *size)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const char *wrong = NULL;
    struct stat info;
    char byte;

    if (fd < 0) return say_file(path, strerror(errno));
    if (fstat(fd, &info) != 0)
        wrong = strerror(errno);
    else if (S_ISDIR(info.st_mode))
        wrong = "is a directory";
    else if (!S_ISREG(info.st_mode))
        wrong = "is not a regular file: only these can be divided between PEs";
    else if (pread(fd, &byte, 1, info.st_size) != 0)
        wrong = "holds more than its size says: copy it to a plain file first";
    close(fd);
    if (wrong != NULL) return say_file(path, wrong);
    *size = (uint64_t)info.st_size;
    return 0;
}

int text_open(struct text *text, char **paths, int n_files)
{
    *text = (struct text){.paths = paths, .n_files = n_files};
    text->sizes = shmem_calloc((size_t)n_files, sizeof(*text->sizes));
    if (text->sizes == NULL) {
        if (shmem_my_pe() == 0)
            fprintf(stderr,
                    "wordcount: no room for the sizes of %d files: raise "
                    "SHMEM_SYMMETRIC_SIZE\n",
                    n_files);
        return -1;
    }
    if (shmem_my_pe() == 0)
        for (int i = 0; i < n_files; i++)
            if (file_size(paths[i], &text->sizes[i]) != 0) text_failed = 1;
    shmem_int_broadcast(SHMEM_TEAM_WORLD, &text_failed, &text_failed, 1, 0);
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, text->sizes, text->sizes, (size_t)n_files, 0);
    for (int i = 0; i < n_files; i++)
        text->nbytes += text->sizes[i];
    return text_failed ? -1 : 0;
}

void text_close(struct text *text)
{
    shmem_free(text->sizes);
    text->sizes = NULL;
}

/* ---- reading ------------------------------------------------------------- */

struct reader {
    const struct text *text;
    uint64_t pos;   /* in the text, of the next byte */
    uint64_t start; /* in the text, of the file at hand */
    int file;
    int fd;          /* of the file at hand, -1 when not open */
    size_t at, have; /* what is left in bytes */
    unsigned char *bytes;
};

/* Go to the file that holds pos. Returns 0, or 1 when the text ends before pos. */
static int reader_find(struct reader *reader)
{
    const struct text *text = reader->text;

    while (reader->file < text->n_files &&
           reader->pos - reader->start >= text->sizes[reader->file]) {
        reader->start += text->sizes[reader->file++];
        if (reader->fd >= 0) close(reader->fd);
        reader->fd = -1;
    }
    return reader->file == text->n_files;
}

/* Read on at pos. Returns the number of bytes, 0 at the end of the text, -1 after a message. */
static int reader_fill(struct reader *reader)
{
    const char *path;
    uint64_t left, offset;
    ssize_t got;

    if (reader_find(reader)) return 0;
    path = reader->text->paths[reader->file];
    offset = reader->pos - reader->start;
    left = reader->text->sizes[reader->file] - offset;
    if (reader->fd < 0) reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (reader->fd < 0) return say_file(path, strerror(errno));
    do
        got =
            pread(reader->fd, reader->bytes, left < READ_BYTES ? left : READ_BYTES, (off_t)offset);
    while (got < 0 && errno == EINTR);
    if (got < 0) return say_file(path, strerror(errno));
    if (got == 0) return say_file(path, "became shorter while it was read");
    reader->at = 0;
    reader->have = (size_t)got;
    return (int)got;
}

/* The next byte, lowered when it is a letter and 0 when not; -1 at the end; -2 on an error. */
static int reader_next(struct reader *reader)
{
    int got;
    unsigned char byte;

    if (reader->at == reader->have) {
        got = reader_fill(reader);
        if (got <= 0) return got - 1;
    }
    byte = reader->bytes[reader->at++];
    reader->pos++;
    if (byte >= 'A' && byte <= 'Z') return byte - 'A' + 'a';
    return byte >= 'a' && byte <= 'z' ? byte : 0;
}

/* ---- words --------------------------------------------------------------- */

struct word {
    char *text;
    size_t length, room;
};

static int word_push(struct word *word, int letter)
{
    if (word->length == word->room) {
        size_t room = word->room ? 2 * word->room : 64;
        char *text = realloc(word->text, room);

        if (text == NULL) {
            fprintf(stderr, "wordcount: PE %d: no memory for a word of %zu letters\n",
                    shmem_my_pe(), room);
            return -1;
        }
        word->text = text;
        word->room = room;
    }
    word->text[word->length++] = (char)letter;
    return 0;
}

/*
 * The walk itself. pos is at begin, or one before it to see whether a word of another PE runs
 * into our range: that word is passed over.
 */
static int walk(struct reader *reader, uint64_t begin, uint64_t end, struct word *word,
                text_found found, void *arg)
{
    int letter = reader->pos < begin ? reader_next(reader) : 0;
    int rc;

    while (letter > 0 && reader->pos < end)
        letter = reader_next(reader);
    /* No letter stands before pos: the next one starts a word, ours if that is before end. */
    while (letter == 0 && reader->pos < end) {
        word->length = 0;
        while ((letter = reader_next(reader)) > 0)
            if (word_push(word, letter) != 0) return -1;
        if (letter == -2) break;
        rc = word->length > 0 ? found(arg, word->text, word->length) : 0;
        if (rc != 0) return rc;
    }
    return letter == -2 ? -1 : 0;
}

int text_each_word(const struct text *text, uint64_t begin, uint64_t end, text_found found,
                   void *arg)
{
    struct reader reader = {.text = text, .fd = -1, .pos = begin > 0 ? begin - 1 : 0};
    struct word word = {NULL, 0, 0};
    int rc;

    if (begin >= end) return 0;
    reader.bytes = malloc(READ_BYTES);
    if (reader.bytes == NULL) {
        fprintf(stderr, "wordcount: PE %d: no memory\n", shmem_my_pe());
        return -1;
    }
    rc = walk(&reader, begin, end, &word, found, arg);
    if (reader.fd >= 0) close(reader.fd);
    free(reader.bytes);
    free(word.text);
    return rc;
}

/* FNV-1a, its bits mixed once more: owner and slot are taken from different parts of it. */
uint64_t word_hash(const char *word, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)word[i]) * UINT64_C(0x100000001b3);
    hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
    return hash ^ (hash >> 31);
}

/* ---- tally --------------------------------------------------------------- */

static int tally_grow(struct tally *tally)
{
    size_t n_chains = tally->n_chains ? 2 * tally->n_chains : 1024;
    struct tally_word **chains = calloc(n_chains, sizeof(*chains));

    if (chains == NULL) return -1;
    for (size_t i = 0; i < tally->n_chains; i++)
        for (struct tally_word *word = tally->chains[i], *next; word != NULL; word = next) {
            next = word->next;
            word->next = chains[word->hash & (n_chains - 1)];
            chains[word->hash & (n_chains - 1)] = word;
        }
    free(tally->chains);
    tally->chains = chains;
    tally->n_chains = n_chains;
    return 0;
}

/* A new word, counted no time yet; NULL when there is no memory. */
static struct tally_word *tally_insert(struct tally *tally, const char *text, size_t length,
                                       uint64_t hash)
{
    struct tally_word *word;

    if (tally->n_words >= tally->n_chains && tally_grow(tally) != 0) return NULL;
    word = malloc(sizeof(*word) + length);
    if (word == NULL) return NULL;
    *word = (struct tally_word){.hash = hash, .length = length};
    memcpy(word->text, text, length);
    word->next = tally->chains[hash & (tally->n_chains - 1)];
    tally->chains[hash & (tally->n_chains - 1)] = word;
    tally->n_words++;
    return word;
}

int tally_add(struct tally *tally, const char *text, size_t length)
{
    uint64_t hash = word_hash(text, length);
    struct tally_word *word = NULL;

    if (tally->n_chains > 0) word = tally->chains[hash & (tally->n_chains - 1)];
    while (word != NULL &&
           (word->hash != hash || word->length != length || memcmp(word->text, text, length) != 0))
        word = word->next;
    if (word == NULL) word = tally_insert(tally, text, length, hash);
    if (word == NULL) {
        fprintf(stderr, "wordcount: PE %d: no memory for more than %zu words\n", shmem_my_pe(),
                tally->n_words);
        return -1;
    }
    word->count++;
    tally->n_seen++;
    return 0;
}

void tally_free(struct tally *tally)
{
    for (size_t i = 0; i < tally->n_chains; i++)
        for (struct tally_word *word = tally->chains[i], *next; word != NULL; word = next) {
            next = word->next;
            free(word);
        }
    free(tally->chains);
    *tally = (struct tally){0};
}
