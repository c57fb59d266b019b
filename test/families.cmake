# SPDX-License-Identifier: BSD-3-Clause
# Scans, active sets, locks, sessions.

# Scans.
steppe_pe_test(scan FABRIC 3 HOSTS)
steppe_pe_test(scan NAME scan_checked NP 3 FABRIC 2 PROVIDERS tcp ENV SHMEM_CHECK=1)

# Collectives over active sets.
steppe_pe_test(active_set NP 1 2 3 4 7 FABRIC 3 4 HOSTS)
# Two pSync arrays in turn, nothing between.
steppe_pe_test(active_alternate NP 4 FABRIC 4 PROVIDERS tcp)
steppe_pe_test(active_alternate NAME active_alternate_hosts NP 7 HOSTS LABELS full)
steppe_pe_test(active_life NP 1 2 3 4 7 FABRIC 3 HOSTS)
steppe_pe_test(typed_active NP 1 2 3 4 7 FABRIC 3 HOSTS)
foreach(name active_set active_life typed_active)
    steppe_pe_test(${name} NAME ${name}_wide NP 16 FABRIC 2 7 LABELS full)
endforeach()
steppe_pe_test(active_set NAME active_set_checked NP 3 FABRIC 2 ENV SHMEM_CHECK=1)

# More arrays in sum than there is room for.
steppe_pe_test(active_life NAME active_life_small NP 2 FABRIC 2 ARGS 600
    ENV SHMEM_SYMMETRIC_SIZE=8m SHMEM_WINDOW_SIZE=64m)

# The two forms of shmem_sync in each language.
steppe_pe_test(active_names NP 1 2 FABRIC 2)
steppe_pe_test(active_names_c99 SOURCES pe/active_names.c NP 2)
set_target_properties(pe_active_names_c99 PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
steppe_pe_test(active_names_cxx SOURCES pe/active_names.cpp NP 2)

# Data on the (fake) GPU and in fabric-attached memory.
steppe_gpu_test(active_kinds QUICK ENV SHMEM_FAM_PATH=${fam})
steppe_pe_test(active_kinds NAME active_kinds_host NP 3 FABRIC 2 ENV SHMEM_FAM_PATH=${fam})

# Locks.
# With four PEs two can stand in line.
steppe_pe_test(lock NP 1 2 3 4 FABRIC 4 HOSTS)

# Sessions and the quiet of some PEs.
steppe_pe_test(pe_quiet NP 1 2 3 4 FABRIC 3)
steppe_pe_test(session NP 1 2 3 4 FABRIC 3 HOSTS)
steppe_pe_test(session_threads NP 1 3 FABRIC 3)
foreach(name pe_quiet session session_threads)
    steppe_pe_test(${name} NAME ${name}_more NP 7 16 FABRIC 1 2 7 LABELS full)
endforeach()
steppe_pe_test(session NAME session_checked NP 2 FABRIC 2 LABELS full ENV SHMEM_CHECK=1)
foreach(name pe_quiet session session_threads)
    steppe_pe_test(${name} NAME ${name}_no_thread NP 2 FABRIC 3 LABELS full
        ENV SHMEM_OFI_PROGRESS_THREAD=off)
endforeach()
