/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside a function: the test that RUN names, of this TYPE. */
TYPED_JOIN(typed_, NAME, RUN)(ctx);
