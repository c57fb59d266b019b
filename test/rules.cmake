# SPDX-License-Identifier: BSD-3-Clause
# The standard rule by rule: docs/conformance.md, init to remote memory access.

steppe_pe_test(rules_contexts NP 1 3 FABRIC 3)
steppe_pe_test(rules_heap NP 1 3 FABRIC 3)
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
if(STEPPE_FABRIC)
    set_property(TEST fabric.tcp.rules_exit.np2 APPEND PROPERTY LABELS full)
endif()
