# SPDX-License-Identifier: BSD-3-Clause
# What a build needs is looked for once, before anything is set up, so that one message names all
# that is missing and the packages that bring it; the directories look for it again.
include(CheckLanguage)
find_package(PkgConfig QUIET)

set(steppe_missing "")
set(steppe_packages "")

# When it was not found: what it is for, and its package in Debian and relatives.
macro(steppe_need found what package)
    if(NOT ${found})
        string(APPEND steppe_missing "\n  ${what}  (Debian: ${package})")
        list(APPEND steppe_packages ${package})
    endif()
endmacro()

# A module of pkg-config, as the variable found.
macro(steppe_find_module found)
    set(${found} FALSE)
    if(PkgConfig_FOUND)
        pkg_check_modules(${found}_module QUIET ${ARGN})
        set(${found} ${${found}_module_FOUND})
    endif()
endmacro()

if(STEPPE_FABRIC OR BUILD_TESTING)
    steppe_need(PkgConfig_FOUND "pkg-config, to find libraries" pkg-config)
endif()
find_path(HWLOC_INCLUDE_DIR hwloc.h)
steppe_need(HWLOC_INCLUDE_DIR "hwloc.h, for oshinfo and HBM spaces" libhwloc-dev)
if(STEPPE_FABRIC)
    steppe_find_module(steppe_has_libfabric libfabric>=1.17)
    steppe_need(steppe_has_libfabric
        "libfabric 1.17 or later with its headers, for jobs on several nodes (or set -DSTEPPE_FABRIC=OFF)"
        libfabric-dev)
endif()
if(BUILD_TESTING)
    steppe_find_module(steppe_has_check check)
    find_package(Python3 QUIET COMPONENTS Interpreter)
    find_program(STEPPE_MPIEXEC mpiexec.hydra)
    check_language(CXX)
    steppe_need(steppe_has_check "check, for the tests (or set -DBUILD_TESTING=OFF)" check)
    steppe_need(Python3_FOUND "python3, for the tests (or set -DBUILD_TESTING=OFF)" python3)
    steppe_need(STEPPE_MPIEXEC "mpiexec.hydra, for the tests and oshrun" mpich)
    steppe_need(CMAKE_CXX_COMPILER "a C++ compiler, for the tests (or set -DBUILD_TESTING=OFF)" g++)
endif()

if(steppe_missing)
    list(JOIN steppe_packages " " steppe_packages)
    message(FATAL_ERROR "Steppe cannot be built, because this is missing:${steppe_missing}\n"
        "  On Debian and Ubuntu, run: apt install ${steppe_packages}\n")
endif()
