# SPDX-License-Identifier: BSD-3-Clause
# STEPPE_COVERAGE=ON: gcc counts which lines of the library run. Programs of PEs are not counted:
# their globals, and so their counters, move to shared memory. scripts/coverage.sh makes a report.
option(STEPPE_COVERAGE "Count which lines of the library tests run (gcc)" OFF)

if(STEPPE_COVERAGE AND NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "STEPPE_COVERAGE needs gcc: set CMAKE_C_COMPILER=gcc")
endif()

function(steppe_count_lines target)
    if(STEPPE_COVERAGE)
        # PEs and threads count at once.
        target_compile_options(${target} PRIVATE
            --coverage -fprofile-update=atomic -fprofile-abs-path)
    endif()
endfunction()

function(steppe_link_counted target scope)
    if(STEPPE_COVERAGE)
        target_link_options(${target} ${scope} --coverage)
    endif()
endfunction()
