# SPDX-License-Identifier: BSD-3-Clause
# Builds that a sanitizer watches: STEPPE_SANITIZE=thread, or address,undefined. Everything is
# compiled with it, tests too, since a process has one run-time of its kind. Sets
# STEPPE_SANITIZE_ENV, what each test needs in its environment (see ENVIRONMENT_MODIFICATION), and
# defines steppe_not_sanitized(). docs/design/testing.md says why.

set(STEPPE_SANITIZE "" CACHE STRING "Sanitizers to build with: thread, or address,undefined")
set_property(CACHE STEPPE_SANITIZE PROPERTY STRINGS "" thread address,undefined)
set(STEPPE_SANITIZE_ENV)

# Libraries that are preloaded, also to shells and launchers that have no such run-time.
function(steppe_not_sanitized target)
    if(STEPPE_SANITIZE)
        target_compile_options(${target} PRIVATE -fno-sanitize=all)
        target_link_options(${target} PRIVATE -fno-sanitize=all)
    endif()
endfunction()

if(NOT STEPPE_SANITIZE)
    return()
endif()
if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR
        "STEPPE_SANITIZE needs gcc, because clang does not link its run-time to shared libraries")
endif()

add_compile_options(-fsanitize=${STEPPE_SANITIZE} -fno-omit-frame-pointer)
add_link_options(-fsanitize=${STEPPE_SANITIZE})

set(supp ${PROJECT_SOURCE_DIR}/test/sanitize)
if(STEPPE_SANITIZE STREQUAL "thread")
    # Fences are an order that this sanitizer does not know; gcc warns of each.
    add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wno-tsan>)
    set(STEPPE_SANITIZE_ENV TSAN_OPTIONS=set:suppressions=${supp}/tsan.supp,history_size=7)
else()
    # A transfer of nothing may copy 0 bytes from NULL: right in all compilers, and in C2y.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=nonnull-attribute)
    # Test doubles that are preloaded come before the run-time: no harm, they replace other names.
    set(STEPPE_SANITIZE_ENV
        ASAN_OPTIONS=set:detect_leaks=1,strict_string_checks=1,verify_asan_link_order=0
        LSAN_OPTIONS=set:suppressions=${supp}/lsan.supp,print_suppressions=0
        UBSAN_OPTIONS=set:print_stacktrace=1)
endif()
