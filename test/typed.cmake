# SPDX-License-Identifier: BSD-3-Clause
# Scans. Typed calls are declared in CMakeLists.txt.
steppe_pe_test(scan FABRIC 2 3 4 HOSTS)
steppe_pe_test(scan NAME scan_checked NP 3 FABRIC 2 ENV SHMEM_CHECK=1)
