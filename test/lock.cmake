# SPDX-License-Identifier: BSD-3-Clause
# Locks.
steppe_pe_test(lock NP 1 2 3 4 FABRIC 3 HOSTS)
