# SPDX-License-Identifier: BSD-3-Clause
# The standard rule by rule. Tables of checks; docs/conformance.md says which is whose.

# Init to remote memory access. With four PEs, words of a sync do not come from who answers a get.
steppe_pe_test(rules_contexts NP 1 3 FABRIC 3)
steppe_pe_test(rules_heap NP 1 3 FABRIC 4)
steppe_pe_test(rules_null NP 1 3 FABRIC 3)
steppe_pe_test(rules_query NP 1 3 FABRIC 3)
steppe_pe_test(rules_rma NP 1 3 FABRIC 3)
steppe_pe_test(rules_teams NP 1 3 FABRIC 3)
steppe_pe_test(rules_threads NP 1 3 FABRIC 3)

# Fifty lives on a node, fewer where each takes a quarter of a second.
steppe_pe_test(rules_init NP 1 3)
steppe_pe_test(rules_init NAME rules_init_few NP 2 FABRIC 3 ARGS 5)
steppe_pe_test(rules_init NAME rules_init_many NP 7 FABRIC 3 LABELS full)

# A level that a later init raises.
steppe_pe_test(rules_threads NAME rules_threads_late NP 2 FABRIC 2 LABELS full ARGS late)

# More PEs than cores, uneven grids.
foreach(name contexts heap null query rma teams threads)
    steppe_pe_test(rules_${name} NAME rules_${name}_crowd NP 2 4 7 16 FABRIC 2 LABELS full)
endforeach()

steppe_job_test(rules_exit NP 3 FABRIC 2 FULL 1 2 4)
steppe_job_test(exit_cxx NP 3 FABRIC 2 FULL 1 SOURCES pe/exit_cxx.cpp)
if(STEPPE_FABRIC)
    set_property(TEST fabric.tcp.rules_exit.np2 fabric.tcp.exit_cxx.np2 APPEND
        PROPERTY LABELS full)
endif()

# Atomics, signals, collectives, waits, the environment.
steppe_pe_test(rules_amo NP 1 3 FABRIC 3)
steppe_pe_test(rules_huge NP 1 2 ENV SHMEM_SYMMETRIC_SIZE=4500m)
steppe_pe_test(rules_signal NP 1 3 FABRIC 3)
# Four PEs: see rules_heap.
steppe_pe_test(rules_coll NP 1 3 FABRIC 4 HOSTS)
steppe_pe_test(rules_coll NAME rules_coll_checked NP 3 ENV SHMEM_CHECK=1)
steppe_pe_test(rules_wait NP 1 3 FABRIC 3)
# Nobody but the waits themselves serves other PEs.
foreach(name lock signal rules_signal rules_wait)
    steppe_pe_test(${name} NAME ${name}_alone NP 2 FABRIC 3 ENV SHMEM_OFI_PROGRESS_THREAD=off)
endforeach()
steppe_job_test(rules_env NP 2 FULL 1 3)
steppe_pe_test(rules_env NAME rules_env_zero NP 1 FABRIC 3 ARGS has 0 ENV SHMEM_SYMMETRIC_SIZE=0)

# The bindings: what compiles, what must not, names.
steppe_pe_test(rules_bind NP 1 3)
steppe_tree_test(names ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/check_names.py
    ${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR})
steppe_tree_test(bindings ${CMAKE_CURRENT_SOURCE_DIR}/check_bindings.sh ${PROJECT_SOURCE_DIR}
    ${CMAKE_C_COMPILER} clang)
