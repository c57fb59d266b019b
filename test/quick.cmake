# SPDX-License-Identifier: BSD-3-Clause
# Tests that the quick set leaves to the full one, although the lists of the folders would have them
# there. Each group keeps one test of each kind. docs/design/testing.md says what belongs where.

# Regular expressions for names of tests: the first list against all tests, then what stays.
set(STEPPE_LEFT_TO_FULL)
set(STEPPE_STAYS_QUICK)

# One PE takes the shortest way through everything: one program a chapter, and whatever has the rules.
list(APPEND STEPPE_LEFT_TO_FULL "^pe\\..*\\.np1$")
list(APPEND STEPPE_STAYS_QUICK "^pe\\.(globals|teams|contexts|rma|amo|signal|coll_stress|order|wait)\\.np1$"
    "^pe\\.(lock|typed_active|threads_check|space_use|kernel_ops|space_null|rules_env_zero)\\.np1$"
    "^pe\\.rules_(coll|teams|init|heap)\\.np1$")

# Collectives of 2 and 8 PEs: those with trees of their own.
list(APPEND STEPPE_LEFT_TO_FULL "^pe\\.(alltoall|collect|sync_barrier|teams|scan)\\.np[28]$"
    "^pe\\.(broadcast|coll_stress|reduce)\\.np2$")

# libfabric's shared memory: one program a chapter.
list(APPEND STEPPE_LEFT_TO_FULL "^fabric\\.shm\\.")
list(APPEND STEPPE_STAYS_QUICK "^fabric\\.shm\\.(globals|teams|contexts|nbi|rma|amo|signal|coll_stress)\\.np3$"
    "^fabric\\.shm\\.(rules_rma|rules_amo|order|wait_many|threads_mix|space_use|random|init_finalize)\\.np3$"
    "^fabric\\.shm\\.(lock\\.np4|space_grow\\.np2)$")

# The provider net: its rules and spaces are those of tcp.
list(APPEND STEPPE_LEFT_TO_FULL "^fabric\\.net\\.(rules_|space_|session|typed_generic|stress_|many_ctx|lock_alone)"
    "^fabric\\.net\\.(passive|alltoall|collect|active_set|threads_life|thread_teams|strided)\\.")
list(APPEND STEPPE_STAYS_QUICK "^fabric\\.net\\.(rules_(rma|amo|signal|coll)|space_use|stress_mix|session)\\.np[34]$")

# Between hosts: one program a chapter.
list(APPEND STEPPE_LEFT_TO_FULL "^hosts\\.(query|init_finalize|ptr|session|nbi|broadcast|collect_none)$"
    "^hosts\\.(collect_unshared|reduce|sync_barrier|threads|threads_life|wait_many)$"
    "^hosts\\.(stress_early|stress_lost|stress_torn|stress_visible|passive|flow|many_ctx|space_sync_gpu)$"
    "^hosts\\.net\\.(interface\\.two_of_three\\.tcp|globals.*|status_off|differ\\.heap)$")

# Ways to the memory of GPUs: space_gpu goes all of them, the other programs the main ones.
list(APPEND STEPPE_LEFT_TO_FULL
    "^gpu\\.(ipc_refused|no_handle|two_devices|checked|mixed_refused|shm|direct)\\.space_(attr|kinds|members)\\."
    "^gpu\\.no_ipc\\.(active_kinds|space_attr|space_kinds|space_sync|space_leaks)\\."
    "^gpu\\.ipc\\..*\\.np2$" "^gpu\\.direct\\.space_gpu\\.np2$"
    "^gpu\\.mixed\\.(space_attr|space_kinds|space_leaks|space_sync|active_kinds)\\."
    "^gpu\\.tcp\\.(mixed\\.)?space_(attr|kinds|members)\\." "^gpu\\.hosts\\.(space_attr|space_kernels)$")
list(APPEND STEPPE_STAYS_QUICK "^gpu\\.ipc\\.space_gpu\\.np2$" "^gpu\\.tcp\\.space_(kinds|members)\\.np4$")

# Variants of programs of spaces that take no way of their own on the second path.
list(APPEND STEPPE_LEFT_TO_FULL "^pe\\.space_(pinned_hbm|pinned_hbm_heap|pinned_hbm_later|handles_staged)\\."
    "^pe\\.space_(reduce_devices|reduce_off|reduce_some|ready_ends|ready_again|ready_off)\\."
    "^pe\\.space_(adopt_staged|ranges_check)\\."
    "^pe\\.space_(empty_grows_hbm|empty_grows_pinned)\\."
    "^pe\\.space_(hbm_outside|hbm_some_pinned|grow_heap_hbm|leaks_grow_outside|leaks_outside)\\."
    "^pe\\.space_(pages_giant|leaks_fam|leaks_gpu|pages\\.np4|streams_ipc\\.np3|roots\\.rounds)"
    "^fabric\\.tcp\\.space_(pinned_heap|pinned_hbm|ready_off|reduce_off)\\."
    "^fabric\\.tcp\\.space_(ranges_check|grow_outside|empty_gpu|empty_fam)"
    "^fabric\\.tcp\\.space_(buffers_direct\\.np3|pages_outside|pages_giant|hbm_some)"
    "^fabric\\.tcp\\.space_(grow_hbm|leaks_cpu\\.np3|leaks_grow|leaks_fam|threads_gpu|env|streams_ipc)"
    "^fabric\\.tcp\\.space_(sync_gpu|kinds_host|pages\\.|adopt)"
    "^pe\\.kernel_gpu_(native|devices|p2p|staged|mixed)\\.")

# Variants of the other programs on tcp and on the node.
list(APPEND STEPPE_LEFT_TO_FULL "^(pe|fabric\\.tcp)\\.(.*_checked|active_life_small|reduce_base|globals_no_pie)\\."
    "^fabric\\.tcp\\.(active_set\\.np4|active_life|start_pes|query|heap|collect_none|lock_alone|thread_room)\\."
    "^fabric\\.tcp\\.(stress_early|stress_torn|stress_visible|passive|bench\\.tune|typed_signal|typed_wait)"
    "^pe\\.(active_names_c99|typed_signal|typed_wait|segments_bss|thread_stack)\\.np[24]")
list(APPEND STEPPE_STAYS_QUICK "^pe\\.(rules_coll_checked|threads_life_checked|threads_mix_checked|thread_stack)\\.np[23]$"
    "^pe\\.(random_.*|reduce_checked)\\.np[23]$" "^pe\\.typed_(signal|wait)\\.np3$")

# Accidents: each kind of event on one path, each path with one that every PE must notice.
list(APPEND STEPPE_LEFT_TO_FULL "^fault\\.(exit\\.tcp\\.store|exit\\.net\\.amo|alone\\.leave\\.tcp|alone\\.turn\\.tcp)$"
    "^fault\\.(hosts\\.tcp\\.early-exit|cgroup\\.refused\\.outer|cores\\.tcp|stray\\.net|room\\.shm\\.tight)$"
    "^fault\\.(apart\\.pids\\.shm|told\\.tcp\\.global_exit|garbage\\.tcp\\.bytes|endpoints|unreach\\.tcp)$")

# Launchers and libraries of MPI, examples, tools that replace routines, and what only compiles.
list(APPEND STEPPE_LEFT_TO_FULL "^(pmix|mpich)\\." "^(pe|gpu|gpu\\.mixed|gpu\\.tcp|fabric\\..*)\\.example\\."
    "^(pe|fabric\\.tcp)\\.profiling\\." "^tree\\.(headers|bindings|gpu_check_bare|needs|device_header|foreign)$")
list(APPEND STEPPE_STAYS_QUICK "^pmix\\.node\\.rma\\." "^pe\\.example\\.(wordcount|fam_log|heat2d\\.np3)"
    "^gpu\\.example\\.spaces_tour\\.")

# Appends full to the list of labels that a variable of the caller holds, when the quick set leaves
# the test out.
function(steppe_leave_to_full test variable)
    if(full IN_LIST ${variable})
        return()
    endif()
    foreach(pattern IN LISTS STEPPE_STAYS_QUICK)
        if(test MATCHES "${pattern}")
            return()
        endif()
    endforeach()
    foreach(pattern IN LISTS STEPPE_LEFT_TO_FULL)
        if(test MATCHES "${pattern}")
            set(${variable} ${${variable}} full PARENT_SCOPE)
            return()
        endif()
    endforeach()
endfunction()
