# SPDX-License-Identifier: BSD-3-Clause
# Collectives over active sets.
steppe_pe_test(typed_active NP 1 2 3 4 7 FABRIC 3)
steppe_pe_test(typed_active NAME typed_active_wide NP 16 FABRIC 7 LABELS full)
