# SPDX-License-Identifier: BSD-3-Clause
# The standard rule by rule: atomics, signals, collectives, waits, the environment, the bindings.
# Tables of checks; docs/conformance.md says which is whose.
steppe_pe_test(rules_amo NP 1 3 FABRIC 3)
steppe_pe_test(rules_huge NP 1 2 ENV SHMEM_SYMMETRIC_SIZE=4500m)
steppe_pe_test(rules_signal NP 1 3 FABRIC 3)
# With four PEs, words of a sync do not come from who answers a get.
steppe_pe_test(rules_coll NP 1 3 FABRIC 4 HOSTS)
steppe_pe_test(rules_coll NAME rules_coll_checked NP 3 ENV SHMEM_CHECK=1)
steppe_pe_test(rules_wait NP 1 3 FABRIC 3)
# Nobody but the waits themselves serves other PEs.
steppe_pe_test(rules_wait NAME rules_wait_alone NP 2 FABRIC 3 ENV SHMEM_OFI_PROGRESS_THREAD=off)
steppe_job_test(rules_env NP 2 FULL 1 3)
steppe_pe_test(rules_env NAME rules_env_zero NP 1 FABRIC 3 ARGS has 0 ENV SHMEM_SYMMETRIC_SIZE=0)

# The bindings: what compiles, what must not, names.
steppe_pe_test(rules_bind NP 1 3)
steppe_tree_test(names ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/check_names.py
    ${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR})
steppe_tree_test(bindings ${CMAKE_CURRENT_SOURCE_DIR}/check_bindings.sh ${PROJECT_SOURCE_DIR}
    ${CMAKE_C_COMPILER} clang)
