# SPDX-License-Identifier: BSD-3-Clause
# Functions that declare tests. CMakeLists.txt explains the labels, which the quick set of tests and
# the full set select.

include(quick.cmake)

# The objects of the library as an archive. Unit tests can then use hidden symbols, and link only the
# objects that they use.
add_library(steppe_internal STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:steppe_core>)
target_link_libraries(steppe_internal PUBLIC Threads::Threads ${CMAKE_DL_LIBS} m)
steppe_link_counted(steppe_internal INTERFACE)

# Limits in seconds. timeout(1) ends a launcher with SIGTERM before CTest kills it, so that the
# launcher can end its PEs.
if(STEPPE_SANITIZE)
    set(timeout 300)
else()
    set(timeout 120)
endif()
set(STEPPE_TEST_TIMEOUT ${timeout} CACHE STRING "Seconds a test may take")
math(EXPR STEPPE_LAUNCH_TIMEOUT "${STEPPE_TEST_TIMEOUT} - 10")

# Sets the properties that all tests have. The arguments after the name of the test are its labels.
function(steppe_test_properties test)
    set_tests_properties(${test} PROPERTIES
        SKIP_RETURN_CODE 77 TIMEOUT ${STEPPE_TEST_TIMEOUT}
        ENVIRONMENT_MODIFICATION "${STEPPE_SANITIZE_ENV}")
    set(labels ${ARGN})
    steppe_leave_to_full(${test} labels)
    set_property(TEST ${test} PROPERTY LABELS ${labels})
endfunction()

# Sets the variable processors of the caller to the number of CTest's jobs that a job of np PEs
# counts as. The other arguments are the labels and the environment of the test. At most four PEs that
# share a node use little time and count as one. PEs that use the fabric count as their number.
function(steppe_processors np)
    set(processors ${np})
    if(np LESS_EQUAL 4 AND NOT "${ARGN}" MATCHES "fabric|hosts|SHMEM_NODE=off")
        set(processors 1)
    endif()
    set(processors ${processors} PARENT_SCOPE)
endfunction()

# Sets full to FULL, for the functions that take this word, unless the condition of if() holds.
macro(steppe_full_unless)
    set(full FULL)
    if(${ARGN})
        set(full)
    endif()
endmacro()

# Excludes targets from a build for the quick tests, because only tests labelled full run them.
function(steppe_for_full)
    if(STEPPE_QUICK_TESTS)
        set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
endfunction()

# Optimizes targets that would be slow otherwise, or that test what optimized code does.
function(steppe_test_optimized)
    if(STEPPE_TEST_FLAGS)
        foreach(target IN LISTS ARGN)
            target_compile_options(${target} PRIVATE -O2)
        endforeach()
    endif()
endfunction()

# Declares test/unit/test_<name>.c, a program that uses Check through unit.h. The other arguments are
# cases of the program. Each case becomes a test of its own; without cases the program is one test.
function(steppe_unit_test name)
    add_executable(test_${name} unit/test_${name}.c)
    target_include_directories(test_${name} PRIVATE
        ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    target_link_libraries(test_${name} PRIVATE steppe_options steppe_internal steppe_unit)
    if(NOT ARGN)
        add_test(NAME unit.${name} COMMAND test_${name})
        steppe_test_properties(unit.${name} unit)
    endif()
    foreach(case IN LISTS ARGN)
        add_test(NAME unit.${name}.${case} COMMAND test_${name})
        steppe_test_properties(unit.${name}.${case} unit)
        set_tests_properties(unit.${name}.${case} PROPERTIES
            ENVIRONMENT CK_RUN_CASE=${case} FAIL_REGULAR_EXPRESSION "Checks: 0,")
    endforeach()
endfunction()

# The standard input of jobs is a FIFO that is empty and has no end. Hydra's mpiexec forwards the end
# of its input to the first PE, and dies of SIGPIPE (141) when the job has already ended: 22 of 1000
# jobs of 20 ms did so on a busy machine.
set(STEPPE_TEST_STDIN ${PROJECT_BINARY_DIR}/test/endless)
if(NOT EXISTS ${STEPPE_TEST_STDIN})
    execute_process(COMMAND mkfifo ${STEPPE_TEST_STDIN} COMMAND_ERROR_IS_FATAL ANY)
endif()

# Declares a test that runs COMMAND as NP PEs by LAUNCHER.
function(steppe_launch_test test)
    cmake_parse_arguments(arg "" "NP" "LABELS;ENV;LAUNCHER;COMMAND" ${ARGN})
    add_test(NAME ${test} COMMAND sh -c "exec \"$@\" <>\"$0\"" ${STEPPE_TEST_STDIN}
        timeout -k 5 ${STEPPE_LAUNCH_TIMEOUT} ${arg_LAUNCHER} -n ${arg_NP} ${arg_COMMAND})
    steppe_test_properties(${test} ${arg_LABELS})
    steppe_processors(${arg_NP} ${arg_LABELS} ${arg_ENV})
    set_tests_properties(${test} PROPERTIES PROCESSORS ${processors} FIXTURES_REQUIRED dev_shm)
    set_property(TEST ${test} PROPERTY ENVIRONMENT ${arg_ENV})
endfunction()

# Builds <name>.c of this folder, or the given sources, as the program pe_<name>, without declaring a
# test. Headers that the programs share are in test/pe.
function(steppe_pe_program name)
    if(NOT ARGN)
        set(ARGN ${name}.c)
    endif()
    add_executable(pe_${name} ${ARGN})
    target_include_directories(pe_${name} PRIVATE ${PROJECT_SOURCE_DIR}/test/pe)
    target_link_libraries(pe_${name} PRIVATE steppe_options Steppe::steppe Threads::Threads m)
    if(STEPPE_TEST_INLINE)
        target_compile_definitions(pe_${name} PRIVATE SHMEMX_INLINE)
    endif()
endfunction()

# The numbers of PEs with which every program runs in the full set, on the node and on each provider.
set(STEPPE_TEST_MATRIX 1 2 3 4 7)

# Declares tests that run <name>.c of this folder, or SOURCES. The quick set consists of:
#   NP           numbers of PEs on the node
#   FABRIC       numbers of PEs through the fabric: the first one on each of PROVIDERS (default: tcp,
#                shm, net), the others on tcp
#   HOSTS        five PEs on three nodes
# These tests are labelled full:
#   FULL, FULL_FABRIC   further numbers of PEs on the node, and on each provider
#   FULL_HOSTS          five PEs on three nodes
# The other numbers of FABRIC on the other PROVIDERS, and all numbers of STEPPE_TEST_MATRIX on the node
# and on each provider, are labelled full too. ARGS are arguments of the program. LABELS and the
# variables of ENV are added to each test. NAME renames the tests of a second call for the same program.
# A call with NAME, or with full in LABELS, does not run the matrix, unless it has MATRIX.
#
# THREADS: several threads of the program are in the library, so that it runs with at most three PEs on
# shm. The locks of that provider are spin locks in memory that all PEs share. While a thread that holds
# such a lock waits for a core, the threads of all PEs spin. With four PEs on two cores this takes most
# of the time.
function(steppe_pe_test name)
    cmake_parse_arguments(arg "HOSTS;FULL_HOSTS;MATRIX;THREADS" "NAME"
        "NP;FABRIC;PROVIDERS;FULL;FULL_FABRIC;LABELS;ARGS;ENV;SOURCES" ${ARGN})
    set(full_np ${arg_FULL})
    set(full_fabric ${arg_FULL_FABRIC})
    if(NOT DEFINED arg_PROVIDERS)
        set(arg_PROVIDERS tcp shm net)
    endif()
    if(arg_MATRIX OR NOT (DEFINED arg_NAME OR full IN_LIST arg_LABELS))
        list(APPEND full_np ${STEPPE_TEST_MATRIX})
        list(APPEND full_fabric ${STEPPE_TEST_MATRIX})
    endif()
    if(full_np)
        list(REMOVE_ITEM full_np ${arg_NP})
        list(REMOVE_DUPLICATES full_np)
    endif()
    if(NOT DEFINED arg_NAME)
        set(arg_NAME ${name})
    endif()
    if(NOT TARGET pe_${name})
        steppe_pe_program(${name} ${arg_SOURCES})
    endif()
    set(command COMMAND $<TARGET_FILE:pe_${name}> ${arg_ARGS})
    set(oshrun LAUNCHER ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/oshrun)

    foreach(np IN LISTS arg_NP full_np)
        set(labels pe ${arg_LABELS})
        if(np IN_LIST full_np)
            list(APPEND labels full)
        endif()
        steppe_launch_test(pe.${arg_NAME}.np${np} NP ${np} LABELS ${labels}
            ENV ${arg_ENV} ${oshrun} ${command})
    endforeach()
    if(NOT STEPPE_FABRIC)
        return()
    endif()
    set(n_fabric ${arg_FABRIC} ${full_fabric})
    list(REMOVE_DUPLICATES n_fabric)
    set(first)
    if(arg_FABRIC)
        list(GET arg_FABRIC 0 first)
    endif()
    foreach(np IN LISTS n_fabric)
        foreach(provider tcp shm net)
            if(arg_THREADS AND provider STREQUAL shm AND np GREATER 3)
                continue()
            endif()
            set(labels fabric ${arg_LABELS})
            if(NOT np IN_LIST arg_FABRIC OR NOT provider IN_LIST arg_PROVIDERS)
                if(NOT np IN_LIST full_fabric)
                    continue()
                endif()
                list(APPEND labels full)
            elseif(NOT np STREQUAL first AND NOT provider STREQUAL tcp)
                list(APPEND labels full)
            endif()
            steppe_launch_test(fabric.${provider}.${arg_NAME}.np${np} NP ${np} LABELS ${labels}
                ENV ${arg_ENV} SHMEM_NODE=off SHMEM_OFI_PROVIDER=${provider} ${oshrun} ${command})
        endforeach()
    endforeach()
    if(arg_HOSTS OR arg_FULL_HOSTS)
        set(labels hosts ${arg_LABELS})
        if(arg_FULL_HOSTS)
            list(APPEND labels full)
        endif()
        steppe_launch_test(hosts.${arg_NAME} NP 5 LABELS ${labels}
            ENV ${arg_ENV} SHMEM_OFI_PROVIDER=tcp
            LAUNCHER ${STEPPE_MPIEXEC} -launcher fork -hosts a:2,b:1,c:2 ${command})
    endif()
endfunction()

# Declares tests that run <name>.c of this folder with the fake CUDA driver, on every path that bytes
# can take: by IPC, with IPC refused at either end, in jobs in which only some PEs have a device, on
# three hosts, through the fabric, and with a provider that seems to reach device memory. Runs whose
# number of PEs uses no further path are labelled full. ARGS are arguments of the program, and ENV is
# added. QUICK declares only a few of these tests. SLOW labels the slowest ones full.
function(steppe_gpu_test name)
    cmake_parse_arguments(arg "QUICK;SLOW" "" "ARGS;ENV;LABELS" ${ARGN})
    set(slow)
    if(arg_SLOW)
        set(slow full)
    endif()
    if(NOT TARGET pe_${name})
        steppe_pe_program(${name})
    endif()
    set(fake ${arg_ENV} LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/lib/fakecuda)
    set(run LAUNCHER ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/oshrun
        COMMAND $<TARGET_FILE:pe_${name}> ${arg_ARGS})
    set(common LABELS pe fakecuda ${arg_LABELS} ${run})
    set(rare LABELS pe fakecuda full ${arg_LABELS} ${run})
    steppe_launch_test(gpu.ipc.${name}.np1 NP 1 ENV ${fake} PE_PATH=device ${rare})
    foreach(np 2 4)
        steppe_launch_test(gpu.ipc.${name}.np${np} NP ${np} ENV ${fake} PE_PATH=device ${common})
    endforeach()
    steppe_launch_test(gpu.mixed.${name}.np4 NP 4 ENV ${fake} FAKECUDA_RANKS=0,3 ${common})
    steppe_launch_test(gpu.no_ipc.${name}.np2 NP 2
        ENV ${fake} PE_PATH=staged SHMEM_GPU_IPC=off ${common})
    if(arg_QUICK)
        return()
    endif()
    set(refused ${fake} PE_PATH=staged FAKECUDA_FAIL=cuIpcOpenMemHandle_v2:801)
    steppe_launch_test(gpu.ipc_refused.${name}.np2 NP 2 ENV ${refused} ${rare})
    steppe_launch_test(gpu.ipc_refused.${name}.np4 NP 4 ENV ${refused} ${common})
    steppe_launch_test(gpu.no_handle.${name}.np2 NP 2
        ENV ${fake} PE_PATH=staged FAKECUDA_FAIL=cuIpcGetMemHandle:801 ${common})
    steppe_launch_test(gpu.two_devices.${name}.np4 NP 4 ENV ${fake} FAKECUDA_DEVICES=2 ${common})
    steppe_launch_test(gpu.checked.${name}.np2 NP 2 ENV ${fake} SHMEM_CHECK=1 ${common})
    steppe_launch_test(gpu.mixed_refused.${name}.np4 NP 4 ENV ${fake} FAKECUDA_RANKS=1,2,3
        FAKECUDA_FAIL=cuIpcOpenMemHandle_v2:801 ${common})
    if(NOT STEPPE_FABRIC)
        return()
    endif()
    foreach(provider tcp shm)
        set(fabric SHMEM_NODE=off SHMEM_OFI_PROVIDER=${provider})
        foreach(np 1 2 4)
            set(how ${rare})
            if("${provider}${np}" MATCHES "tcp4|shm2")
                set(how ${common})
            endif()
            steppe_launch_test(gpu.${provider}.${name}.np${np} NP ${np}
                ENV ${fake} PE_PATH=staged ${fabric} ${how})
        endforeach()
    endforeach()
    set(mixed SHMEM_NODE=off FAKECUDA_RANKS=0,3)
    steppe_launch_test(gpu.tcp.mixed.${name}.np4 NP 4
        ENV ${fake} ${mixed} SHMEM_OFI_PROVIDER=tcp ${common})
    steppe_launch_test(gpu.shm.mixed.${name}.np4 NP 4
        ENV ${fake} ${mixed} SHMEM_OFI_PROVIDER=shm ${rare})
    set(common LABELS pe fakecuda ${slow} ${arg_LABELS} ${run})
    foreach(np 2 4)
        steppe_launch_test(gpu.direct.${name}.np${np} NP ${np} ENV ${fake} PE_PATH=fabric
            LD_PRELOAD=${PROJECT_BINARY_DIR}/lib/provider/libprovshim.so PROVSHIM=hmem
            SHMEM_NODE=off SHMEM_OFI_PROVIDER=tcp ${common})
    endforeach()
    steppe_launch_test(gpu.hosts.${name} NP 5 LABELS hosts fakecuda ${slow}
        ENV ${fake} SHMEM_OFI_PROVIDER=tcp
        LAUNCHER ${STEPPE_MPIEXEC} -launcher fork -hosts a:2,b:1,c:2
        COMMAND $<TARGET_FILE:pe_${name}> ${arg_ARGS})
endfunction()

# Declares tests of run_<name>.sh of this folder, which runs pe_<name> several times and checks how each
# job ends: with NP PEs on the node, and with FABRIC PEs through the tcp provider. Runs with the numbers
# of FULL and FULL_FABRIC are labelled full. Each of PARTS is a test of its own.
function(steppe_job_test name)
    cmake_parse_arguments(arg "" "" "NP;FABRIC;FULL;FULL_FABRIC;SOURCES;PARTS" ${ARGN})
    steppe_pe_program(${name} ${arg_SOURCES})
    if(NOT arg_PARTS)
        set(arg_PARTS all)
    endif()
    if(NOT STEPPE_FABRIC)
        set(arg_FABRIC)
        set(arg_FULL_FABRIC)
    endif()
    foreach(label pe fabric)
        if(label STREQUAL pe)
            set(counts ${arg_NP} ${arg_FULL})
            set(rare ${arg_FULL})
            set(prefix pe)
            set(env SHMEM_NODE=on)
        else()
            set(counts ${arg_FABRIC} ${arg_FULL_FABRIC})
            set(rare ${arg_FULL_FABRIC})
            set(prefix fabric.tcp)
            set(env SHMEM_NODE=off SHMEM_OFI_PROVIDER=tcp)
        endif()
        foreach(part IN LISTS arg_PARTS)
            foreach(np IN LISTS counts)
                set(test ${prefix}.${name}.np${np})
                if(NOT part STREQUAL all)
                    set(test ${prefix}.${name}.${part}.np${np})
                endif()
                add_test(NAME ${test} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run_${name}.sh
                    $<TARGET_FILE:pe_${name}> ${np} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/oshrun)
                set(labels ${label})
                if(np IN_LIST rare)
                    list(APPEND labels full)
                endif()
                steppe_test_properties(${test} ${labels})
                steppe_processors(${np} ${label})
                set_tests_properties(${test} PROPERTIES PROCESSORS ${processors}
                    FIXTURES_REQUIRED dev_shm)
                set_property(TEST ${test} PROPERTY ENVIRONMENT ${env} PART=${part})
            endforeach()
        endforeach()
    endforeach()
endfunction()

# Marks the slowest tests. In a new build folder, in which CTest knows no times, CTest starts them first.
function(steppe_slowest)
    foreach(test IN LISTS ARGN)
        if(TEST ${test})
            set_property(TEST ${test} PROPERTY COST 100)
        endif()
    endforeach()
endfunction()

# Adds the label smoke to the few tests that run before a push.
function(steppe_smoke)
    foreach(test IN LISTS ARGN)
        if(TEST ${test})
            set_property(TEST ${test} APPEND PROPERTY LABELS smoke)
        elseif(STEPPE_FABRIC)
            message(FATAL_ERROR "there is no test ${test} to be labelled smoke")
        endif()
    endforeach()
endfunction()

# Declares a test of the source tree or the installation. The other arguments are its command line.
function(steppe_tree_test name)
    add_test(NAME tree.${name} COMMAND ${ARGN} COMMAND_EXPAND_LISTS)
    steppe_test_properties(tree.${name} tree)
endfunction()
