# SPDX-License-Identifier: BSD-3-Clause
# Collectives over active sets.
steppe_pe_test(typed_active NP 1 2 3 4 7 FABRIC 3)
steppe_pe_test(typed_active NAME typed_active_wide NP 16 FABRIC 7 LABELS full)
foreach(name active_set active_life)
    steppe_pe_test(${name} NP 1 2 3 4 7 FABRIC 3 HOSTS)
    steppe_pe_test(${name} NAME ${name}_wide NP 16 FABRIC 2 7 LABELS full)
endforeach()
steppe_pe_test(active_set NAME active_set_checked NP 3 FABRIC 2 ENV SHMEM_CHECK=1)
