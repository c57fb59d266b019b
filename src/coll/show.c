/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a wait for a word of an area is: which team, which of its collectives. Found out from the
 * word alone, so that no collective has to say it in advance. Design: docs/design/hang.md.
 */
#include "area.h"

#include <stdio.h>

/* Who the members are, in words: "the world", "the team of pes 0-6 by 2". */
static void team_text(const struct stp_team *team, char *text, size_t len)
{
    int n = team->n_pes, last = stp_team_pe(team, n - 1);
    const char *what = team->active_set ? "the active set" : "the team";

    if (team == stp_team_world)
        snprintf(text, len, "the world");
    else if (team->table != NULL)
        snprintf(text, len, "%s of %d pes from %d to %d", what, n, stp_team_pe(team, 0), last);
    else if (team->stride != 1)
        snprintf(text, len, "%s of pes %d-%d by %d", what, team->start, last, team->stride);
    else
        snprintf(text, len, "%s of pes %d-%d", what, team->start, last);
}

/* Which word of an area, as the collective that waits for it, counted. */
static void word_text(const struct stp_team *team, size_t at, char *text, size_t len)
{
    bool close =
        at - offsetof(struct stp_coll_area, close) < sizeof(team->area->close) ||
        at - offsetof(struct stp_coll_area, close_across) < sizeof(team->area->close_across);

    if (close)
        snprintf(text, len, "the end");
    else if (at >= offsetof(struct stp_coll_area, cells) ||
             at - offsetof(struct stp_coll_area, node) < sizeof(team->area->node))
        snprintf(text, len, "collective %llu", (unsigned long long)team->sequence);
    else
        snprintf(text, len, "sync %llu", (unsigned long long)team->sync_epoch);
}

/* The leader whose word a leader waits for; -1: not known. */
static int word_from(const struct stp_team *team, size_t at)
{
    const struct stp_plan *plan = &team->plan;
    size_t across = at - offsetof(struct stp_coll_area, across);
    size_t closing = at - offsetof(struct stp_coll_area, close_across);
    size_t round;

    if (across < sizeof(team->area->across))
        round = across % sizeof(team->area->across[0]) / sizeof(uint64_t);
    else if (closing < sizeof(team->area->close_across))
        round = closing / sizeof(uint64_t);
    else
        return -1;
    if (round >= COLL_ROUNDS) return -1;
    return plan
        ->leaders[(plan->group + plan->n_groups - (1 << round) % plan->n_groups) % plan->n_groups];
}

void stp_coll_show(struct stp_wait *wait, const uint64_t *word)
{
    static __thread const char *routine; /* the stack is walked once a wait */
    const struct stp_space *internal = stp_registry_at(STP_SPACE_INTERNAL);
    struct stp_wait_note note = {.before = -1};
    const struct stp_team *team = NULL;
    char of[80] = "a team", which[48] = "a collective";
    size_t offset, slot, at;
    int local;

    if (stp_hang_is_new()) routine = stp_symbol_routine();
    if (internal != NULL && stp_window_holds(word, &offset, &local) &&
        stp_coll_slot_at(offset - internal->offset, &slot, &at))
        team = stp_coll_team_at(slot);
    if (team != NULL) {
        team_text(team, of, sizeof(of));
        word_text(team, at, which, sizeof(which));
        note.before = word_from(team, at);
        note.team_n_pes = team->n_pes;
        note.team_start = team->start;
        note.team_stride = team->table == NULL ? team->stride : 0;
    }
    snprintf(note.text, sizeof(note.text), "%s%s%s of %s", routine != NULL ? routine : "",
             routine != NULL ? ", " : "", which, of);
    stp_hang_show(wait, &note);
}
