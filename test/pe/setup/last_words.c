/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the last PE fail or end in the way that the argument names, after the program has printed
 * text. The other PEs have printed too and wait. run_last_words.sh checks that the text arrives,
 * and test/fault/CMakeLists.txt does so with a launcher that ends no PE.
 *
 * usage: last_words WAY
 */
#include "pe_threads.h"
#include "pe_ways.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static long never, word;

static void bad_pe(void)
{
    printf("words of a bad PE");
    shmem_long_p(&word, 1, pe_n);
}

static void not_symmetric(void)
{
    long here = 0;

    printf("words of a bad address");
    shmem_long_atomic_inc(&here, pe_me);
}

static void kept_in_file(void)
{
    FILE *file = fopen(getenv("WORDS_FILE"), "w");

    PE_REQUIRE(file != NULL, "fopen of $WORDS_FILE or tmpfile() failed");
    fprintf(file, "words in a file");
    setvbuf(stderr, NULL, _IOFBF, 4096);
    fprintf(stderr, "words of stderr");
    bad_pe();
}

/* ---- threads ------------------------------------------------------------------------------ */

static pthread_barrier_t ready;

static void *fail_in_thread(void *arg)
{
    (void)arg;
    shmem_long_p(&word, 1, pe_n);
    return NULL;
}

static void in_thread(void)
{
    printf("words of another thread");
    pthread_join(pe_thread(fail_in_thread, NULL), NULL);
}

static void *hold(void *stream)
{
    flockfile(stream);
    pthread_barrier_wait(&ready);
    while (pause() != 0)
        continue;
    return NULL;
}

static void hold_in_thread(FILE *stream)
{
    pthread_barrier_init(&ready, NULL, 2);
    (void)pe_thread(hold, stream);
    pthread_barrier_wait(&ready);
}

/* What stdout has is lost, the file's is not. */
static void stdout_held(void)
{
    FILE *file = fopen(getenv("WORDS_FILE"), "w");

    PE_REQUIRE(file != NULL, "fopen of $WORDS_FILE or tmpfile() failed");
    fprintf(file, "words in a file");
    hold_in_thread(stdout);
    shmem_long_p(&word, 1, pe_n);
}

/* The other way round: stdout is not lost with a file that cannot be had. */
static void file_held(void)
{
    FILE *file = tmpfile();

    PE_REQUIRE(file != NULL, "fopen of $WORDS_FILE or tmpfile() failed");
    hold_in_thread(file);
    bad_pe();
}

/* ---- pipes ---------------------------------------------------------------------------------- */

/* A pipe of which nobody reads, in place of fd; full: it takes no byte more. */
static void plug(int fd, bool full)
{
    static const char filler[4096];
    int ends[2];

    PE_REQUIRE(pipe(ends) == 0, "pipe() failed");
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (full && write(ends[1], filler, sizeof(filler)) > 0)
        continue;
    fcntl(ends[1], F_SETFL, 0);
    dup2(ends[1], fd);
    close(ends[1]);
    if (!full) close(ends[0]);
}

/* ---- where the program is in the middle of something ---------------------------------------- */

static void fail_in_handler(int signo)
{
    (void)signo;
    shmem_long_p(&word, 1, pe_n);
}

/* Sooner or later it hits a print, and then it has the lock itself. */
static void in_handler(void)
{
    char *text = NULL;

    printf("words before a signal\n");
    signal(SIGALRM, fail_in_handler);
    ualarm(2000, 0);
    for (unsigned i = 0;; i++) {
        text = realloc(text, 1 + i % 1000); /* or the allocator */
        snprintf(text, 1 + i % 1000, "%u", i);
        if (i % 1000 == 0) printf("%s words\n", text);
    }
}

/* A child of a PE has the parent's words in its buffers too: they arrive once. */
static void in_child(void)
{
    int status = 0;
    pid_t child;

    printf("words of a parent\n");
    child = fork();
    if (child == 0) shmem_long_p(&word, 1, pe_n);
    PE_REQUIRE(child > 0 && waitpid(child, &status, 0) == child, "fork() or waitpid() failed");
    printf("its child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    for (int pe = 0; pe < pe_n; pe++)
        shmem_long_atomic_set(&never, 1, pe);
    exit(0);
}

static void fail(void)
{
    if (pe_way_is("bad_pe")) bad_pe();
    if (pe_way_is("not_symmetric")) not_symmetric();
    if (pe_way_is("kept_in_file")) kept_in_file();
    if (pe_way_is("in_thread")) in_thread();
    if (pe_way_is("stdout_held")) stdout_held();
    if (pe_way_is("file_held")) file_held();
    if (pe_way_is("stdout_mine")) flockfile(stdout);
    if (pe_way_is("stdout_full") || pe_way_is("both_full")) plug(STDOUT_FILENO, true);
    if (pe_way_is("both_full")) plug(STDERR_FILENO, true);
    if (pe_way_is("stdout_closed")) plug(STDOUT_FILENO, false);
    if (pe_way_is("in_handler")) in_handler();
    if (pe_way_is("in_child")) in_child();
    if (pe_way_is("killed")) raise(SIGKILL);
    if (pe_way_is("global_exit")) shmem_global_exit(3);
    PE_REQUIRE(pe_way_known, "the argument %s is not the name of a way to fail", pe_way);
    bad_pe();
}

/* By stdout, and by a stream of the program's own. */
static void print_before_waiting(void)
{
    FILE *own = fdopen(dup(STDOUT_FILENO), "w");

    PE_REQUIRE(own != NULL, "fdopen of a copy of stdout failed");
    printf("pe %d said this;", pe_me);
    fprintf(own, "pe %d wrote this;", pe_me);
}

int main(int argc, char **argv)
{
    pe_way = argc > 1 ? argv[1] : "";
    pe_test_begin();
    if (pe_me < pe_n - 1) print_before_waiting();
    shmem_barrier_all();
    if (pe_me == pe_n - 1) fail();
    shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
    return 0;
}
