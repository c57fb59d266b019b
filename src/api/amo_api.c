/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the atomics for every type. Also defines the old names from before OpenSHMEM 1.4. The
 * order of the includes matters, because a template uses helpers that earlier templates define.
 */
#include "api/api.h"

#define AMO_CPU STP_LOCAL(amo_apply)
#define TEMPLATE "transport/cpu_amo.tmpl.h"
#include "api/gen/types_amo.h"
#undef TEMPLATE

#define TEMPLATE "api/amo_apply_real.tmpl.h"
#include "api/gen/types_amo_real.h"
#undef TEMPLATE

#define TEMPLATE "api/amo_helpers_fetch_set_swap.tmpl.h"
#include "api/gen/types_amo_ext.h"
#undef TEMPLATE

#define TEMPLATE "api/amo_cswap_inc.tmpl.h"
#include "api/gen/types_amo.h"
#undef TEMPLATE

#define TEMPLATE "api/amo_bit.tmpl.h"
#include "api/gen/types_amo_bit.h"
#undef TEMPLATE

#define TEMPLATE "api/amo_old_ext.tmpl.h"
#include "api/gen/types_old_ext.h"
#undef TEMPLATE

#define TEMPLATE "api/amo_old.tmpl.h"
#include "api/gen/types_old.h"
#undef TEMPLATE
