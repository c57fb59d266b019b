/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the environment variables: which of two names wins, that the message for a wrong value
 * names the variable and the value, and that the table of variables is consistent. CTest runs the
 * program as unit.env. How sizes are parsed is tested in test_env_size.c.
 */
#include "base/base.h"
#include "capture.h"
#include "unit.h"

#include <errno.h>
#include <locale.h>
#include <string.h>

/* Forget every variable of ours; each test starts so. */
static void clear_environment(void)
{
    for (size_t i = 0; i < stp_env_n_rows; i++) {
        unsetenv(stp_env_table[i].name);
        if (stp_env_table[i].alias) unsetenv(stp_env_table[i].alias);
    }
}

static const struct stp_env_row *row_of(const char *name)
{
    for (size_t i = 0; i < stp_env_n_rows; i++) {
        if (strcmp(stp_env_table[i].name, name) == 0) return &stp_env_table[i];
    }
    ck_abort_msg("the table of variables has no row %s", name);
}

/* Load while name is value; checks the result and, where given, that the log has the words. */
static void load_with(const char *name, const char *value, int rc, const char *words)
{
    int got;

    setenv(name, value, 1);
    CAPTURE(got = stp_env_load());
    ck_assert_msg(got == rc, "loading %s='%s' returned %d instead of %d", name, value, got, rc);
    if (rc == 0) {
        ck_assert_str_eq(said.text, "");
    } else {
        ck_assert_msg(strstr(said.text, name) && strstr(said.text, value) &&
                          strstr(said.text, words),
                      "the message lacks the name, the value or '%s': %s", words, said.text);
    }
    unsetenv(name);
}

/* ---- the table -------------------------------------------------------------- */

TEST(defaults)
{
    clear_environment();
    ck_assert_int_eq(stp_env_load(), 0);
    ck_assert(!stp_env.version && !stp_env.info && !stp_env.debug);
    ck_assert_uint_eq(stp_env.symmetric.size, 536870912);
    ck_assert(!stp_env.check);
    ck_assert(stp_env.node);
    ck_assert_uint_eq(stp_env.window_size, 0);
    ck_assert_int_eq(stp_env.spin, -1);
    ck_assert_int_eq(stp_env.pmi, STP_PMI_AUTO);
    ck_assert_ptr_null(stp_env.launcher);
    ck_assert_ptr_null(stp_env.ofi_provider);
    ck_assert_ptr_null(stp_env.ofi_fabric);
    ck_assert_ptr_null(stp_env.ofi_domain);
    ck_assert_uint_eq(stp_env.ofi_bounce_size, 8192);
    ck_assert(stp_env.ofi_progress_thread);
    ck_assert(!stp_env.spaces_table);
    ck_assert(stp_env.warn);
}

TEST(presence_is_enough)
{
    static const char *const names[] = {"SHMEM_VERSION", "SHMEM_INFO", "SHMEM_DEBUG",
                                        "SMA_VERSION",   "SMA_INFO",   "SMA_DEBUG"};
    bool *const values[] = {&stp_env.version, &stp_env.info, &stp_env.debug};

    clear_environment();
    for (size_t i = 0; i < STP_COUNT(names); i++) {
        load_with(names[i], "0", 0, NULL);
        ck_assert(*values[i % 3]);
        load_with(names[i], "", 0, NULL);
        ck_assert(*values[i % 3]);
        ck_assert_int_eq(stp_env_load(), 0);
        ck_assert(!*values[i % 3]);
    }
}

TEST(new_name_wins)
{
    const struct stp_env_row *row = row_of("SHMEM_SYMMETRIC_SIZE");

    clear_environment();
    ck_assert(!stp_env_is_set(row));
    load_with("SMA_SYMMETRIC_SIZE", "3m", 0, NULL);
    ck_assert_uint_eq(stp_env.symmetric.size, 3145728);
    setenv("SMA_SYMMETRIC_SIZE", "3m", 1);
    ck_assert(stp_env_is_set(row));
    load_with("SHMEM_SYMMETRIC_SIZE", "2m", 0, NULL);
    ck_assert_uint_eq(stp_env.symmetric.size, 2097152);
    /* What loses is not looked at, what wins is, even when the other would do. */
    setenv("SMA_SYMMETRIC_SIZE", "nonsense", 1);
    load_with("SHMEM_SYMMETRIC_SIZE", "2m", 0, NULL);
    setenv("SMA_SYMMETRIC_SIZE", "3m", 1);
    load_with("SHMEM_SYMMETRIC_SIZE", "many", -EINVAL, "512m");
    unsetenv("SMA_SYMMETRIC_SIZE");
    load_with("SMA_SYMMETRIC_SIZE", "-3m", -EINVAL, "512m");
}

TEST(words_for_bool)
{
    static const char *const on[] = {"on", "ON", "yes", "True", "1"};
    static const char *const off[] = {"off", "No", "false", "0"};
    static const char *const wrong[] = {"", "2", "onn", "o", "maybe", "on ", "-1"};

    clear_environment();
    for (size_t i = 0; i < STP_COUNT(on); i++) {
        load_with("SHMEM_CHECK", on[i], 0, NULL);
        ck_assert(stp_env.check);
    }
    for (size_t i = 0; i < STP_COUNT(off); i++) {
        load_with("SHMEM_NODE", off[i], 0, NULL);
        ck_assert(!stp_env.node);
    }
    for (size_t i = 0; i < STP_COUNT(wrong); i++)
        load_with("SHMEM_OFI_PROGRESS_THREAD", wrong[i], -EINVAL, "on or off");
}

TEST(whole_numbers)
{
    static const char *const wrong[] = {
        "", "-2", "many", "1.5", "3x", "2147483648", "99999999999999999999"};

    clear_environment();
    load_with("SHMEM_SPIN", "0", 0, NULL);
    ck_assert_int_eq(stp_env.spin, 0);
    load_with("SHMEM_SPIN", "2147483647", 0, NULL);
    ck_assert_int_eq(stp_env.spin, INT_MAX);
    load_with("SHMEM_SPIN", "-1", 0, NULL);
    ck_assert_int_eq(stp_env.spin, -1);
    for (size_t i = 0; i < STP_COUNT(wrong); i++)
        load_with("SHMEM_SPIN", wrong[i], -EINVAL, "whole number");
    /* of nothing a program would wait for ever */
    load_with("SHMEM_STREAM_WAITS", "1", 0, NULL);
    ck_assert_int_eq(stp_env.stream_waits, 1);
    load_with("SHMEM_STREAM_WAITS", "0", -EINVAL, "of at least 1");
    load_with("SHMEM_STREAM_WAITS", "-1", -EINVAL, "of at least 1");
}

TEST(choices)
{
    static const char *const words[] = {"auto", "1", "2", "Single", "pmix"};

    clear_environment();
    for (int i = 0; i < (int)STP_COUNT(words); i++) {
        load_with("SHMEM_PMI", words[i], 0, NULL);
        ck_assert_int_eq(stp_env.pmi, i);
    }
    load_with("SHMEM_PMI", "pmi3", -EINVAL, "one of: auto, 1, 2, single, pmix");
    load_with("SHMEM_PMI", "", -EINVAL, "one of: auto, 1, 2, single, pmix");
}

TEST(strings)
{
    char *found;

    clear_environment();
    load_with("SHMEM_OFI_PROVIDER", "tcp;ofi_rxm", 0, NULL);
    ck_assert_str_eq(stp_env.ofi_provider, "tcp;ofi_rxm");
    setenv("SHMEM_OFI_PROVIDER", "verbs", 1);
    ck_assert_int_eq(stp_env_load(), 0);
    found = getenv("SHMEM_OFI_PROVIDER");
    memset(found, 'x', strlen(found)); /* a program that plays with its environment */
    ck_assert_str_eq(stp_env.ofi_provider, "verbs");
    load_with("SHMEM_OFI_PROVIDER", "", 0, NULL);
    ck_assert_ptr_null(stp_env.ofi_provider);
}

TEST(sizes_in_the_table)
{
    clear_environment();
    load_with("SHMEM_OFI_BOUNCE_SIZE", "64k", 0, NULL);
    ck_assert_uint_eq(stp_env.ofi_bounce_size, 65536);
    load_with("SHMEM_WINDOW_SIZE", "1t", 0, NULL);
    ck_assert_uint_eq(stp_env.window_size, (size_t)1 << 40);
    load_with("SHMEM_SYMMETRIC_SIZE", "0", 0, NULL);
    ck_assert_uint_eq(stp_env.symmetric.size, 0);
    load_with("SHMEM_SYMMETRIC_SIZE", "16777216t", -EINVAL, "exceeds 2^64 bytes");
}

TEST(sizes_that_grow)
{
    const struct stp_env_row *row = row_of("SHMEM_SYMMETRIC_SIZE");
    static const char *const wrong[] = {"64g:512m", "512m:", ":64g", "1m:2m:3m", "1m:many", "x:1g"};
    char text[64];

    clear_environment();
    ck_assert_int_eq(stp_env_load(), 0);
    ck_assert_uint_eq(stp_env.symmetric.max, 536870912);
    load_with("SHMEM_SYMMETRIC_SIZE", "512m:64g", 0, NULL);
    ck_assert_uint_eq(stp_env.symmetric.size, 536870912);
    ck_assert_uint_eq(stp_env.symmetric.max, (size_t)64 << 30);
    ck_assert_str_eq(stp_env_format(row, text, sizeof(text)), "512m:64g");
    load_with("SHMEM_SYMMETRIC_SIZE", "0:1.5g", 0, NULL);
    ck_assert_str_eq(stp_env_format(row, text, sizeof(text)), "0:1536m");
    load_with("SHMEM_SYMMETRIC_SIZE", "1m:1024k", 0, NULL);
    ck_assert_str_eq(stp_env_format(row, text, sizeof(text)), "1m");
    for (size_t i = 0; i < STP_COUNT(wrong); i++) {
        load_with("SHMEM_SYMMETRIC_SIZE", wrong[i], -EINVAL, "512m:64g");
        ck_assert_uint_eq(stp_env.symmetric.max, 536870912);
    }
    load_with("SHMEM_SYMMETRIC_SIZE", "1m:16777216t", -EINVAL, "exceeds 2^64 bytes");
}

/* One bad value must not hide another, nor keep good ones from being read. */
TEST(all_mistakes_at_once)
{

    clear_environment();
    setenv("SHMEM_CHECK", "perhaps", 1);
    setenv("SHMEM_SPIN", "often", 1);
    setenv("SHMEM_SPACES_TABLE", "on", 1);
    setenv("SHMEM_UNKNOWN_TO_US", "whatever", 1);
    setenv("SHMEM_ALSO_UNKNOWN", "", 1);
    CAPTURE(ck_assert_int_eq(stp_env_load(), -EINVAL));
    ck_said("SHMEM_CHECK is 'perhaps'");
    ck_said("SHMEM_SPIN is 'often'");
    ck_assert_ptr_null(strstr(said.text, "UNKNOWN"));
    ck_assert(stp_env.spaces_table);
    clear_environment();
    ck_assert_int_eq(stp_env_load(), 0);
    unsetenv("SHMEM_UNKNOWN_TO_US");
    unsetenv("SHMEM_ALSO_UNKNOWN");
}

TEST(table_is_sound)
{
    for (size_t i = 0; i < stp_env_n_rows; i++) {
        const struct stp_env_row *row = &stp_env_table[i];

        ck_assert_msg(strncmp(row->name, "SHMEM_", 6) == 0, "%s must begin with SHMEM_", row->name);
        if (row->alias) {
            ck_assert_int_eq(strncmp(row->alias, "SMA_", 4), 0);
            ck_assert_str_eq(row->alias + 4, row->name + 6);
        }
        ck_assert_uint_gt(strlen(row->help), 0);
        ck_assert_ptr_null(strchr(row->help, '\n'));
        ck_assert_msg((row->words != NULL) == (row->kind == STP_ENV_CHOICE),
                      "%s: a choice, and only a choice, has words", row->name);
        ck_assert_msg((row->fallback == NULL) ==
                          (row->kind == STP_ENV_PRESENT || row->kind == STP_ENV_STRING),
                      "%s: only strings and PRESENT have no default", row->name);
        ck_assert_uint_lt(row->offset, sizeof(struct stp_env));
        for (size_t j = 0; j < i; j++) {
            ck_assert_str_ne(row->name, stp_env_table[j].name);
            ck_assert_uint_ne(row->offset, stp_env_table[j].offset);
        }
    }
}

static void format_is(const char *name, const char *value, const char *want)
{
    char text[64];

    if (value) setenv(name, value, 1);
    ck_assert_int_eq(stp_env_load(), 0);
    ck_assert_str_eq(stp_env_format(row_of(name), text, sizeof(text)), want);
    unsetenv(name);
}

TEST(unknown_names)
{
    static const char *const words[] = {
        ("SHMEM_SYMETRIC_SIZE is set, but Steppe has no variable of this name: did you mean "
         "SHMEM_SYMMETRIC_SIZE?"),
        "SMA_DEBUGS is set, but Steppe has no variable of this name: did you mean SMA_DEBUG?",
        "SHMEM_QWERTYUIOPASDF is set, but Steppe has no variable of this name: run oshinfo",
    };

    clear_environment();
    setenv("SHMEM_SYMETRIC_SIZE", "1g", 1);
    setenv("SMA_DEBUGS", "", 1);
    setenv("SHMEM_QWERTYUIOPASDF", "1", 1);
    setenv("SHMEM_CC", "cc", 1);
    setenv("SHMEMX", "1", 1);
    CAPTURE(stp_env_warn());
    for (size_t i = 0; i < STP_COUNT(words); i++)
        ck_said(words[i]);
    ck_assert_ptr_null(strstr(said.text, "SHMEM_CC is"));
    ck_assert_ptr_null(strstr(said.text, "SHMEMX is"));
    unsetenv("SHMEM_SYMETRIC_SIZE");
    unsetenv("SMA_DEBUGS");
    unsetenv("SHMEM_QWERTYUIOPASDF");
    unsetenv("SHMEMX");
    clear_environment();
}

TEST(values_as_text)
{
    char small[4];

    clear_environment();
    format_is("SHMEM_SYMMETRIC_SIZE", NULL, "512m");
    format_is("SHMEM_SYMMETRIC_SIZE", "2048m", "2g");
    format_is("SHMEM_SYMMETRIC_SIZE", "1025", "1025");
    format_is("SHMEM_SYMMETRIC_SIZE", "0", "0");
    format_is("SHMEM_SYMMETRIC_SIZE", "4096t", "4096t");
    format_is("SHMEM_DEBUG", NULL, "unset");
    format_is("SHMEM_DEBUG", "", "set");
    format_is("SHMEM_CHECK", "yes", "on");
    format_is("SHMEM_NODE", "0", "off");
    format_is("SHMEM_SPIN", NULL, "-1");
    format_is("SHMEM_PMI", "SINGLE", "single");
    format_is("SHMEM_OFI_DOMAIN", NULL, "unset");
    format_is("SHMEM_OFI_DOMAIN", "mlx5_0", "mlx5_0");
    ck_assert_int_eq(stp_env_load(), 0);
    ck_assert_str_eq(stp_env_format(row_of("SHMEM_SYMMETRIC_SIZE"), small, sizeof(small)), "512");
}
