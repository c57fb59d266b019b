/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the collective and the team in which a thread waits. Collectives do not record that they
 * begin. The only source is therefore the address of the word for which the thread waits. This word
 * is in the sync area of the team. Design: docs/design/hang.md.
 */
#include "coll/coll_internal.h"
#include "hang.h"
#include "backtrace_and_symbol_names.h"

#include <stdio.h>
#include <string.h>

/*
 * Writes the name and the number of the collective that uses a word, for example "sync 12".
 * `area_offset` is the offset of the word in the team's sync area.
 */
static void collective_text(const struct stp_team *team, size_t area_offset, char *text, size_t len)
{
    unsigned long long count = team->sync_epoch;
    const char *name = "sync";

    if (area_offset - offsetof(struct stp_team_sync_area, job_end) < sizeof(team->area->job_end) ||
        area_offset - offsetof(struct stp_team_sync_area, job_end_internode) <
            sizeof(team->area->job_end_internode)) {
        snprintf(text, len, "the last sync");
        return;
    }
    if (area_offset >= offsetof(struct stp_team_sync_area, cells) ||
        area_offset - offsetof(struct stp_team_sync_area, node) < sizeof(team->area->node)) {
        name = "collective";
        count = team->sequence;
    }
    if (count != 0)
        snprintf(text, len, "%s %llu", name, count);
    else
        snprintf(text, len, "%s", name);
}

/*
 * Describes the members of the team, for example "SHMEM_TEAM_WORLD" or "the team of PE 0-6, stride
 * 2".
 */
static void team_text(const struct stp_team *team, char *text, size_t len)
{
    const char *name = team->active_set ? "the active set" : "the team";
    int first = stp_team_pe(team, 0), last = stp_team_pe(team, team->n_pes - 1);

    if (team == stp_team_world)
        snprintf(text, len, "SHMEM_TEAM_WORLD");
    else if (team->table != NULL)
        snprintf(text, len, "%s of %d PEs from PE %d to PE %d", name, team->n_pes, first, last);
    else if (team->stride != 1)
        snprintf(text, len, "%s of PE %d-%d, stride %d", name, first, last, team->stride);
    else
        snprintf(text, len, "%s of PE %d-%d", name, first, last);
}

/*
 * Returns the team whose sync area contains the word, or NULL. Sets *area_offset to the offset of
 * the word in the sync area.
 */
static const struct stp_team *team_of(const uint64_t *word, size_t *area_offset)
{
    const struct stp_space *internal = stp_space_at(STP_SPACE_INTERNAL);
    size_t offset, slot;
    int local;

    if (internal == NULL || !stp_window_locate(word, &offset, &local) ||
        !stp_coll_slot_at(offset - internal->offset, &slot, area_offset))
        return NULL;
    return stp_coll_team_at(slot);
}

/*
 * Returns the PE that must write the word at offset `area_offset` of the sync area. This PE is the
 * leader of a node. Returns -1 if the PE is unknown. Sets *round to the round of the sync that uses
 * the word, or to COLL_ROUNDS if the round is unknown. In round 0, a leader writes the word only
 * after all PEs of its node have started the sync.
 */
static int word_writer(const struct stp_team *team, size_t area_offset, size_t *round)
{
    const struct stp_team_hierarchy *plan = &team->plan;
    size_t across_offset = area_offset - offsetof(struct stp_team_sync_area, internode);
    size_t close_offset = area_offset - offsetof(struct stp_team_sync_area, job_end_internode);
    int distance;

    *round = COLL_ROUNDS;
    if (across_offset < sizeof(team->area->internode))
        *round = across_offset % sizeof(team->area->internode[0]) / sizeof(uint64_t);
    else if (close_offset < sizeof(team->area->job_end_internode))
        *round = close_offset / sizeof(uint64_t);
    if (*round >= COLL_ROUNDS) return -1;
    distance = (1 << *round) % plan->n_groups;
    return plan->leaders[(plan->group + plan->n_groups - distance) % plan->n_groups];
}

void stp_hang_note_coll(const uint64_t *word, struct stp_wait_state *note)
{
    /*
     * Name of the public routine in which this thread waits. It is found once per wait, because
     * stp_symbol_routine() must search the stack for the name.
     */
    static __thread const char *routine;
    char collective[32] = "a collective", members[80] = "";
    size_t area_offset, round;
    const struct stp_team *team = team_of(word, &area_offset);

    if (stp_wait_is_new()) routine = stp_symbol_routine();
    if (team != NULL) {
        collective_text(team, area_offset, collective, sizeof(collective));
        team_text(team, members, sizeof(members));
        note->awaited_pe = word_writer(team, area_offset, &round);
        note->all_nodes = team == stp_team_world && round != 0;
        note->team_n_pes = team->n_pes;
        note->team_start = team->start;
        note->team_stride = team->table == NULL ? team->stride : 0;
    }
    snprintf(note->text, sizeof(note->text), "%s%s%s%s%s", routine != NULL ? routine : "",
             routine != NULL ? ", " : "", collective, members[0] != '\0' ? " of " : "", members);
}
