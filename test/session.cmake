# SPDX-License-Identifier: BSD-3-Clause
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
