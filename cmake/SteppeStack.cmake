# SPDX-License-Identifier: BSD-3-Clause
# How much stack a function of the library may take: programs call it from threads with small
# stacks. docs/design/base.md says what follows from the numbers. Sanitizers make frames larger.

# Functions that any call may come to: the largest ones build a message of 2 KiB.
set(STEPPE_FRAME 2560)
# Those with a path of the system, 4 KiB, or sets of CPUs: starting, making spaces, the launcher.
set(STEPPE_FRAME_PATH 5120)
# Reports (src/info), and the constructor of the data segment, on the stack of main.
set(STEPPE_FRAME_REPORT 9216)

function(steppe_limit_frames target nbytes)
    if(NOT STEPPE_SANITIZE)
        target_compile_options(${target} PRIVATE -Wframe-larger-than=${nbytes})
    endif()
endfunction()

# The remaining arguments are sources of steppe_core, which may take nbytes.
function(steppe_frames_of nbytes)
    if(NOT STEPPE_SANITIZE)
        set_property(SOURCE ${ARGN} TARGET_DIRECTORY steppe_core
            APPEND PROPERTY COMPILE_OPTIONS -Wframe-larger-than=${nbytes})
    endif()
endfunction()
