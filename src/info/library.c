/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table behind which the library is.
 */
#include "library.h"

const struct stp_info_library *stp_lib;
