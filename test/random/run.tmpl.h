/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template, which types.c includes inside rnd_types_init() for each type: calls the function that
 * ADD names, which enters the routines of this type into the table.
 */
ADD();
