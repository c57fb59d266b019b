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

# SHMEM_CHECK=1 and questions beside a thread that changes what they look at. Alone a PE changes
# most in the same time.
steppe_pe_test(threads_check NP 1 2)
steppe_pe_test(threads_check NAME threads_check_crowd NP 3 4 7 FABRIC 3 HOSTS LABELS full)

# The others with SHMEM_CHECK=1: a few here, all of them in the full set.
steppe_pe_test(threads_life NAME threads_life_checked NP 2 ENV SHMEM_CHECK=1)
steppe_pe_test(threads_mix NAME threads_mix_checked NP 2 ENV SHMEM_CHECK=1)
foreach(name session_threads space_threads stress_early stress_lost stress_mix stress_torn
        stress_visible thread_teams threads threads_life threads_lock threads_mix)
    steppe_pe_test(${name} NAME ${name}_checks NP 1 3 FABRIC 3 LABELS full ENV SHMEM_CHECK=1)
endforeach()
steppe_pe_test(thread_slots NAME thread_slots_checks NP 3 FABRIC 2 LABELS full
    ENV SHMEM_CHECK=1 SHMEM_SYMMETRIC_SIZE=1M SHMEM_WINDOW_SIZE=64M)
steppe_pe_test(thread_room NAME thread_room_checks NP 3 FABRIC 2 LABELS full
    ENV SHMEM_CHECK=1 SHMEM_SYMMETRIC_SIZE=1M SHMEM_WINDOW_SIZE=256M)
# The least stack that the library promises to do with; sanitizers need more.
set(stack)
if(STEPPE_SANITIZE)
    set(stack ARGS 1024)
endif()
steppe_pe_test(thread_stack NP 2 4 FABRIC 3 HOSTS ENV SHMEM_FAM_PATH=${fam} ${stack})
steppe_pe_test(thread_stack NAME thread_stack_gpu NP 2 FABRIC 2 PROVIDERS tcp
    ENV SHMEM_FAM_PATH=${fam} ${fakecuda} ${stack})
