// SPDX-License-Identifier: BSD-3-Clause
// active_names.c as C++.
#include "active_names.c"
