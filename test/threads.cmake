# SPDX-License-Identifier: BSD-3-Clause
# Threads inside the library at once; the thread sanitizer watches these too.
steppe_pe_test(threads_mix NP 1 3 4 FABRIC 3 HOSTS)
steppe_pe_test(threads_life NP 1 3 4 FABRIC 3 HOSTS)
steppe_pe_test(threads_mix NAME threads_mix_crowd NP 2 7 16 FABRIC 2 4 7 LABELS full)
steppe_pe_test(threads_life NAME threads_life_crowd NP 2 7 16 FABRIC 2 4 7 LABELS full)
steppe_pe_test(threads_lock NP 1 3 4 FABRIC 3 HOSTS)
# Too few slots for all the teams that they make.
steppe_pe_test(thread_slots NP 1 2 3 FABRIC 2
    ENV SHMEM_SYMMETRIC_SIZE=1M SHMEM_WINDOW_SIZE=64M)
# Too little window for all the spaces that they make.
steppe_pe_test(thread_room NP 1 2 3 FABRIC 2
    ENV SHMEM_SYMMETRIC_SIZE=1M SHMEM_WINDOW_SIZE=256M)
