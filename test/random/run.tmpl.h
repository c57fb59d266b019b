/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls what ADD made of one type, inside a function. */
ADD();
