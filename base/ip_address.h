/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the bits of IP addresses, independently of their version. Design: docs/design/base.md. */
#ifndef STP_IP_ADDRESS_H
#define STP_IP_ADDRESS_H

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

/*
 * Returns a pointer to the bits of an IP address and sets *n_bits to their number, which is 32 or
 * 128. Returns NULL if addr is NULL or not an IP address.
 */
static inline const unsigned char *stp_ip_bits(const struct sockaddr *addr, unsigned *n_bits)
{
    const void *any = addr;

    if (addr == NULL || (addr->sa_family != AF_INET && addr->sa_family != AF_INET6)) return NULL;
    *n_bits = addr->sa_family == AF_INET ? 32 : 128;
    return addr->sa_family == AF_INET
               ? (const unsigned char *)&((const struct sockaddr_in *)any)->sin_addr
               : (const unsigned char *)&((const struct sockaddr_in6 *)any)->sin6_addr;
}

#endif /* STP_IP_ADDRESS_H */
