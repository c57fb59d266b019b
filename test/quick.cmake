# SPDX-License-Identifier: BSD-3-Clause
# Lists tests that only the full set runs, although the CMakeLists.txt of their folders puts them into
# the quick set. Each group keeps at least one test of each kind. docs/design/testing.md explains which
# test belongs to which set.

# Regular expressions for names of tests. A test that matches the first list is labelled full, unless it
# also matches the second list.
set(STEPPE_LEFT_TO_FULL)
set(STEPPE_STAYS_QUICK)

# Jobs of one PE take the shortest path in the library. The quick set keeps one program of each chapter,
# and programs that test the rules of the standard.
list(APPEND STEPPE_LEFT_TO_FULL "^pe\\..*\\.np1$")
list(APPEND STEPPE_STAYS_QUICK "^pe\\.(globals|contexts|rma|amo|signal|coll_stress|order|rules_wait)\\.np1$"
    "^pe\\.(lock|typed_active|threads_check|space_use|kernel_ops|space_null|rules_env_zero)\\.np1$"
    "^pe\\.(rules_(coll|teams|init|heap)|strided|typed_amo|wait_many|space_life_host)\\.np1$")

# Collectives with 2 and 8 PEs. The quick set keeps collectives that use other trees for these numbers.
list(APPEND STEPPE_LEFT_TO_FULL "^pe\\.(alltoall|collect|sync_barrier|rules_teams|scan)\\.np[28]$"
    "^pe\\.(broadcast|reduce)\\.np2$")

# A job on the fabric needs half a second to start. The quick set therefore keeps only programs that the
# fabric module can break: transfers, packing, order and counting, the forms of collectives between
# nodes, and the registration of spaces. Code above the transport is tested on the node.
list(APPEND STEPPE_LEFT_TO_FULL "^fabric\\.(tcp|shm|net)\\.")
list(APPEND STEPPE_STAYS_QUICK
    "^fabric\\.tcp\\.(rma|amo|signal|nbi|order|contexts|session|session_threads|pe_quiet)\\.np3$"
    "^fabric\\.tcp\\.(strided|wait_many|many_ctx|stress_mix|stress_lost|threads_mix|flow)\\.np3$"
    "^fabric\\.tcp\\.(typed_amo|rules_rma|rules_signal|rules_init_few|fork|fork_calls|heap_full|hang)\\.np3$"
    "^fabric\\.tcp\\.(coll_stress|collect_unshared|alltoall|rules_coll|lock|coll_heads)\\.np[34]$"
    "^fabric\\.tcp\\.(globals|rules_teams|threads)\\.np3$" "^fabric\\.tcp\\.thread_stack_small$"
    "^fabric\\.tcp\\.(broadcast_large|reduce_bits)\\.np5$" "^fabric\\.tcp\\.random"
    "^fabric\\.tcp\\.(exit|segments_medium|kernel_ops)\\.np2$" "^fabric\\.tcp\\.bench$"
    "^fabric\\.tcp\\.rxm_defaults\\.(multiple|threads)$"
    "^fabric\\.tcp\\.space_(create|use|heap)\\.np3$" "^fabric\\.tcp\\.kernel_gpu_ring\\."
    "^fabric\\.tcp\\.space_(grow|threads|order|ready|streams|handles|reduce_staged|leaks_cpu)\\.np2$"
    "^fabric\\.tcp\\.space_(buffers_direct|gpu_keys|gpu_unequal)\\.np2$"
    "^fabric\\.shm\\.(rma|amo|order|contexts|coll_stress|random|lock|space_use)\\.np[34]$"
    "^fabric\\.net\\.(rma|amo|order|contexts|session|wait_many|threads_mix|flow)\\.np3$"
    "^fabric\\.net\\.(stress_mix|random|rules_coll|lock|signal_alone)\\.np[34]$")

# Jobs on several hosts. The quick set keeps programs that depend on which PEs share a node, one test of
# each way to start a job, and one test of each message.
list(APPEND STEPPE_LEFT_TO_FULL "^hosts\\.[a-z_]+$" "^hosts\\.footprint\\."
    "^hosts\\.net\\.(coll_stress\\.net\\.pmi1\\.1_2_3|interface\\.two_of_three\\.tcp|globals.*|status_off)$"
    "^hosts\\.net\\.(differ\\.(heap|executable))$")
list(APPEND STEPPE_STAYS_QUICK "^hosts\\.(rma|query|active_set|broadcast_large|coll_heads)$"
    "^hosts\\.(coll_stress|lock|reduce_bits|rules_coll|order)$")

# Paths to GPU memory. In the quick set space_gpu takes all paths on a node, and the other programs take
# the main ones.
list(APPEND STEPPE_LEFT_TO_FULL
    "^gpu\\.(ipc_refused|no_handle|two_devices|checked|mixed_refused|shm|direct)\\.space_(attr|kinds|members)\\."
    "^gpu\\.no_ipc\\.(active_kinds|space_attr|space_kinds|space_sync|space_leaks)\\."
    "^gpu\\.ipc\\..*\\.np2$" "^gpu\\.direct\\.space_gpu\\.np2$"
    "^gpu\\.mixed\\.(space_attr|space_kinds|space_leaks|space_sync|active_kinds)\\."
    "^gpu\\.tcp\\.(mixed\\.)?space_(attr|kinds|members)\\." "^gpu\\.(hosts|shm|mixed_refused)\\.")
list(APPEND STEPPE_STAYS_QUICK "^gpu\\.ipc\\.space_gpu\\.np2$")

# Variants of programs for spaces that test no further path of the library.
list(APPEND STEPPE_LEFT_TO_FULL "^pe\\.space_(pinned_hbm|pinned_hbm_heap|pinned_hbm_later|handles_staged)\\."
    "^pe\\.space_(reduce_devices|reduce_off|reduce_some|ready_ends|ready_again|ready_off)\\."
    "^pe\\.space_(adopt_staged|ranges_check)\\."
    "^pe\\.space_(empty_grows_hbm|empty_grows_pinned)\\."
    "^pe\\.space_(hbm_outside|hbm_some_pinned|grow_heap_hbm|leaks_grow_outside|leaks_outside)\\."
    "^pe\\.space_(pages_giant|leaks_fam|leaks_gpu|pages\\.np4|streams_ipc\\.np3|roots\\.rounds)"
    "^pe\\.kernel_gpu_(native|devices|p2p|staged|mixed)\\.")

# Variants of the other programs.
list(APPEND STEPPE_LEFT_TO_FULL "^pe\\.(.*_checked|active_life_small|reduce_base|globals_no_pie)\\."
    "^pe\\.(active_names_c99|typed_signal|typed_wait|segments_bss|thread_stack)\\.np[24]")
list(APPEND STEPPE_STAYS_QUICK "^pe\\.(rules_coll_checked|threads_life_checked|threads_mix_checked|thread_stack)\\.np[23]$"
    "^pe\\.(random_.*|reduce_checked)\\.np[23]$" "^pe\\.typed_(signal|wait)\\.np3$")

# Failures of PEs and hosts. The quick set keeps each kind of event on one path, and for each path one
# event that every PE must notice.
list(APPEND STEPPE_LEFT_TO_FULL "^fault\\.(exit\\.tcp\\.store|exit\\.net\\.amo|alone\\.leave\\.tcp|alone\\.turn\\.tcp)$"
    "^fault\\.(hosts\\.tcp\\.early-exit|cgroup\\.refused\\.outer|cores\\.tcp|stray\\.net|room\\.shm\\.tight)$"
    "^fault\\.(apart\\.pids\\.shm|told\\.tcp\\.global_exit|garbage\\.tcp\\.bytes|endpoints|unreach\\.tcp)$"
    "^fault\\.(alone\\.(kernels|streams\\.sync|turn\\.node|opaque\\.kill\\.net)|apart\\.files\\.shm)$"
    "^provider\\.counted\\..*\\.np[24]$")

# Launchers and libraries of MPI, examples, tools that replace routines, and tests that only compile.
list(APPEND STEPPE_LEFT_TO_FULL "^(pmix|mpich)\\." "^(pe|gpu|gpu\\.mixed|gpu\\.tcp|fabric\\..*)\\.example\\."
    "^pe\\.profiling\\." "^tree\\.(headers|bindings|needs|device_header|foreign|ptx)$")
list(APPEND STEPPE_STAYS_QUICK "^pe\\.example\\.(wordcount|fam_log|heat2d\\.np3)"
    "^gpu\\.example\\.spaces_tour\\.")

# Appends full to the list of labels in the given variable of the caller if the test is not in the
# quick set.
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
