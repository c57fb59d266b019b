# SPDX-License-Identifier: BSD-3-Clause
# Order between the two ways to a PE of this node.
if(STEPPE_FABRIC)
    steppe_pe_program(fence_ways)
    foreach(provider tcp net)
        steppe_launch_test(hosts.fence_ways.${provider} NP 3 LABELS hosts
            ENV SHMEM_OFI_PROVIDER=${provider}
            LAUNCHER ${STEPPE_MPIEXEC} -launcher fork -hosts a:2,b:1
            COMMAND $<TARGET_FILE:pe_fence_ways>)
    endforeach()
endif()
