# SPDX-License-Identifier: BSD-3-Clause
# The standard rule by rule: docs/conformance.md, init to remote memory access.

steppe_pe_test(rules_contexts NP 1 3 FABRIC 3)
steppe_pe_test(rules_heap NP 1 3 FABRIC 3)
steppe_pe_test(rules_null NP 1 3 FABRIC 3)
steppe_pe_test(rules_query NP 1 3 FABRIC 3)
steppe_pe_test(rules_rma NP 1 3 FABRIC 3)
steppe_pe_test(rules_teams NP 1 3 FABRIC 3)
steppe_pe_test(rules_threads NP 1 3 FABRIC 3)
steppe_pe_test(rules_init NP 1 3)
