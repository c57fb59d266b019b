/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The input of wordcount: files read as one text, in which any PE finds the words of its own
 * byte range; and a tally, a private count of words.
 */
#ifndef WORDCOUNT_TEXT_H
#define WORDCOUNT_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Files one after the other, as cat would write them: a word may go on in the next file. */
struct text {
    char **paths;
    uint64_t *sizes; /* symmetric memory, equal on all PEs */
    int n_files;
    uint64_t nbytes; /* of all files */
};

/*
 * Set up text over n_files > 0 regular files. PE 0 looks at them and tells the others.
 * Collective over the world. Returns 0, or -1 on all PEs when a file cannot be used (PE 0 named
 * each of them on stderr). text_close() is due in both cases.
 */
int text_open(struct text *text, char **paths, int n_files);
void text_close(struct text *text);

/*
 * Call found for each word that starts in the bytes [begin, end) of the text; it may reach beyond
 * end. A word is a maximal run of ASCII letters, given in lower case and without a final 0.
 * found: returns 0 to go on; anything else ends the walk and is returned.
 * Returns 0, or -1 after a message when reading failed.
 */
typedef int (*text_found)(void *arg, const char *word, size_t length);
int text_each_word(const struct text *text, uint64_t begin, uint64_t end, text_found found,
                   void *arg);

uint64_t word_hash(const char *word, size_t length);

struct tally_word {
    struct tally_word *next;
    uint64_t hash;
    uint64_t count;
    size_t length;
    char text[]; /* length bytes */
};

struct tally {
    struct tally_word **chains; /* a power of two of them */
    size_t n_chains;
    size_t n_words;  /* distinct */
    uint64_t n_seen; /* with repetitions */
};

/* Count one word. Returns 0 or -1 (no memory, after a message). A zeroed tally is empty. */
int tally_add(struct tally *tally, const char *word, size_t length);
void tally_free(struct tally *tally);

#endif /* WORDCOUNT_TEXT_H */
