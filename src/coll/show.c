/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a wait for a word of an area is: which team, which of its collectives. Found out from the
 * word alone, so that no collective has to say it in advance. Design: docs/design/hang.md.
 */
#include "area.h"

#include <stdio.h>
#include <string.h>

static void seen_set(struct stp_seen *seen, const char *what, uint64_t count)
{
    memccpy(seen->what, what, '\0', sizeof(seen->what) - 1);
    seen->count = count;
}

/* Is it the last of the words by which n tell each other? */
static bool is_last_round(size_t round, int n)
{
    return round < COLL_ROUNDS && n <= 2 << round && n > 1 << round;
}

/* Has a wait for that word of a sync ended only when all had come? As sync.c goes. */
static bool is_last_of_sync(const struct stp_team *team, size_t at)
{
    const struct stp_plan *plan = &team->plan;
    size_t flat = at - offsetof(struct stp_coll_area, flat);
    size_t across = at - offsetof(struct stp_coll_area, across);

    if (flat < sizeof(team->area->flat))
        return is_last_round(flat / sizeof(team->area->flat[0]), plan->n_local);
    if (across < sizeof(team->area->across))
        return is_last_round(across % sizeof(team->area->across[0]) / sizeof(uint64_t),
                             plan->n_groups);
    return at == offsetof(struct stp_coll_area, all.released.value) ||
           at == offsetof(struct stp_coll_area, left.value);
}

/* Which word of an area, as the collective that waits for it, counted; and who its members are. */
static void word_of(const struct stp_team *team, size_t at, struct stp_seen *seen)
{
    bool close =
        at - offsetof(struct stp_coll_area, close) < sizeof(team->area->close) ||
        at - offsetof(struct stp_coll_area, close_across) < sizeof(team->area->close_across);

    seen->all = false;
    if (close) {
        seen_set(seen, "the end", 0);
    } else if (at >= offsetof(struct stp_coll_area, cells) ||
               at - offsetof(struct stp_coll_area, node) < sizeof(team->area->node)) {
        seen_set(seen, "collective", team->sequence);
    } else {
        seen_set(seen, "sync", team->sync_epoch);
        seen->all = is_last_of_sync(team, at);
    }
    if (team == stp_team_world)
        seen->team = STP_SEEN_WORLD;
    else
        seen->team = team->active_set ? STP_SEEN_ACTIVE_SET : STP_SEEN_TEAM;
    seen->n_pes = team->n_pes;
    seen->first = stp_team_pe(team, 0);
    seen->last = stp_team_pe(team, team->n_pes - 1);
    seen->stride = team->table == NULL ? team->stride : 0;
}

/* The team of a word, and where in its area it is; NULL: it is not known. */
static const struct stp_team *team_of(const uint64_t *word, size_t *at)
{
    const struct stp_space *internal = stp_registry_at(STP_SPACE_INTERNAL);
    size_t offset, slot;
    int local;

    if (internal == NULL || !stp_window_holds(word, &offset, &local) ||
        !stp_coll_slot_at(offset - internal->offset, &slot, at))
        return NULL;
    return stp_coll_team_at(slot);
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

void stp_coll_seen(const uint64_t *word)
{
    struct stp_seen seen = {.what = "a collective"};
    size_t at;
    const struct stp_team *team = team_of(word, &at);

    if (team != NULL) word_of(team, at, &seen);
    stp_hang_end_as(&seen);
}

void stp_coll_show(struct stp_wait *wait, const uint64_t *word)
{
    static __thread const char *routine; /* the stack is walked once a wait */
    struct stp_wait_note note = {.before = -1};
    struct stp_seen seen = {.what = "a collective"};
    char words[128];
    size_t at;
    const struct stp_team *team = team_of(word, &at);

    if (stp_hang_is_new()) routine = stp_symbol_routine();
    if (team != NULL) {
        word_of(team, at, &seen);
        note.before = word_from(team, at);
        note.team_n_pes = team->n_pes;
        note.team_start = team->start;
        note.team_stride = team->table == NULL ? team->stride : 0;
    }
    snprintf(note.text, sizeof(note.text), "%s%s%s", routine != NULL ? routine : "",
             routine != NULL ? ", " : "", stp_seen_text(&seen, words, sizeof(words)));
    stp_hang_show(wait, &note);
}
