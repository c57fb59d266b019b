# SPDX-License-Identifier: BSD-3-Clause
# Manual pages. A release brings them in docs/man/generated; in a checkout Python writes them into
# the build folder. Where mandoc is installed, the build also writes them as HTML.
set(STEPPE_MAN ${PROJECT_SOURCE_DIR}/docs/man/generated)
if(NOT EXISTS ${STEPPE_MAN})
    find_package(Python3 QUIET COMPONENTS Interpreter)
    set(STEPPE_MAN ${PROJECT_BINARY_DIR}/man)
    if(NOT Python3_FOUND)
        message(STATUS "Manual pages are neither made nor installed, because this needs Python 3")
        return()
    endif()
    set(pages ${STEPPE_MAN}/man7/shmem.7) # stands for all of them
    file(GLOB sources CONFIGURE_DEPENDS docs/man/*.[137] docs/man/src/*.txt)
    add_custom_command(OUTPUT ${pages}
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/gen_man.py ${STEPPE_MAN}
        DEPENDS ${sources} CMakeLists.txt include/shmem.h.in include/shmemx_stream.h.in
            base/env.c tools/gen_api.py tools/gen_man.py)
    if(STEPPE_BENCH AND NOT CMAKE_CROSSCOMPILING) # the program is run
        add_custom_command(OUTPUT ${STEPPE_MAN}/man1/steppe-bench.1
            COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/gen_bench_man.py
                $<TARGET_FILE:steppe-bench> ${STEPPE_MAN}/man1/steppe-bench.1
            DEPENDS ${pages} steppe-bench docs/man/src/steppe-bench.1.in tools/gen_bench_man.py)
        list(APPEND pages ${STEPPE_MAN}/man1/steppe-bench.1)
    endif()
    add_custom_target(man ALL DEPENDS ${pages})
endif()

find_program(STEPPE_MANDOC mandoc)
find_package(Python3 QUIET COMPONENTS Interpreter)
if(STEPPE_MANDOC AND Python3_FOUND)
    add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/html/index.html
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/gen_man_html.py
            ${STEPPE_MAN} ${PROJECT_BINARY_DIR}/html
        DEPENDS ${pages} tools/gen_man_html.py)
    add_custom_target(man_html ALL DEPENDS ${PROJECT_BINARY_DIR}/html/index.html)
    add_dependencies(man_html man) # with make, both targets would otherwise write the pages at the same time
    install(DIRECTORY ${PROJECT_BINARY_DIR}/html DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

set(without_bench PATTERN steppe-bench.1 EXCLUDE)
if(STEPPE_BENCH)
    set(without_bench)
endif()
install(DIRECTORY ${STEPPE_MAN}/man1 ${STEPPE_MAN}/man3 ${STEPPE_MAN}/man7
    DESTINATION ${CMAKE_INSTALL_MANDIR} ${without_bench})
