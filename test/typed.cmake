# SPDX-License-Identifier: BSD-3-Clause
# Scans.
steppe_pe_test(scan FABRIC 3 HOSTS)
steppe_pe_test(scan NAME scan_checked NP 3 FABRIC 2 PROVIDERS tcp ENV SHMEM_CHECK=1)

# Typed calls, declared in CMakeLists.txt, with more PEs than any array of theirs was made for.
foreach(name amo coll generic rma signal wait)
    steppe_pe_test(typed_${name} NAME typed_${name}_wide NP 16 LABELS full)
endforeach()
