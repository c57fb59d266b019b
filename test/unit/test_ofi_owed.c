/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers that the fabric module holds back (transport/ofi/owed.c): only to contexts that were said
 * to be patient.
 */
#include "ofi_pes.h"

#include "transport/ofi/ofi.h"

#include <malloc.h>

enum { CTXS = 4 };

/* ---- whose context is patient ------------------------------------------------- */

/* Memory of a context may have been something else's. */
static void look_at_new_contexts(void)
{
    struct stp_fabric_ctx *ctxs[CTXS];

    mallopt(M_PERTURB, 0x55);
    for (int i = 0; i < CTXS; i++) {
        expect(fabric.ctx_create(i % 2 == 0, &ctxs[i]) == 0, "contexts");
        expect(!ctxs[i]->patient, "contexts that wait for their answers");
    }
    fabric.patient(ctxs[0]);
    expect(ctxs[0]->patient && !ctxs[1]->patient, "one patient context");
    for (int i = 0; i < CTXS; i++)
        fabric.ctx_destroy(ctxs[i]);
    go_down();
}

START_TEST(new_contexts_are_not_patient)
{
    setup();
    ck_assert_msg(run("tcp", look_at_new_contexts) == 0, "%s", world->text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ofi_owed");
    TCase *tests = tcase_create("ofi_owed");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, new_contexts_are_not_patient);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 2;
}
