# SPDX-License-Identifier: BSD-3-Clause
# Where everything goes. The prefix may be moved afterwards: the commands, steppe.pc, the CMake
# package and the library find their companions relative to themselves.
include(CMakePackageConfigHelpers)

set(STEPPE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Steppe)

install(TARGETS steppe EXPORT SteppeTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(STEPPE_STATIC)
    install(TARGETS steppe_static EXPORT SteppeTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(STEPPE_ALIASES)
    install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libsma.so
        DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT SteppeTargets NAMESPACE Steppe:: DESTINATION ${STEPPE_PACKAGE_DIR})

configure_package_config_file(cmake/SteppeConfig.cmake.in
    ${PROJECT_BINARY_DIR}/SteppeConfig.cmake
    INSTALL_DESTINATION ${STEPPE_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SteppeConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/SteppeConfig.cmake
    ${PROJECT_BINARY_DIR}/SteppeConfigVersion.cmake
    DESTINATION ${STEPPE_PACKAGE_DIR})

file(RELATIVE_PATH STEPPE_PC_PREFIX
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" STEPPE_PC_PREFIX "${STEPPE_PC_PREFIX}")
file(RELATIVE_PATH STEPPE_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH STEPPE_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/steppe.pc.in steppe.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/steppe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(STEPPE_ALIASES)
    install(FILES ${PROJECT_BINARY_DIR}/steppe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        RENAME openshmem.pc)
endif()

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES
    docs/man/oshcc.1
    docs/man/oshinfo.1
    docs/man/oshrun.1
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
if(STEPPE_BENCH)
    install(FILES docs/man/steppe-bench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
foreach(name oshc++ oshCC oshcxx)
    install(FILES docs/man/oshcc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME ${name}.1)
endforeach()
install(FILES docs/man/shmem.7 docs/man/steppe-spaces.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)

# Pages of routines: one file for the first name, one that points there for each further one.
function(steppe_man3 page)
    install(FILES docs/man/${page}.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
    foreach(alias IN LISTS ARGN)
        file(WRITE ${PROJECT_BINARY_DIR}/man3/${alias}.3 ".so man3/${page}.3\n")
        install(FILES ${PROJECT_BINARY_DIR}/man3/${alias}.3
            DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
    endforeach()
endfunction()

include(cmake/SteppeManLinks.cmake) # the types, and the generated pages below
steppe_man3(shmem_space_create)
steppe_man3(shmem_space_destroy)
steppe_man3(shmem_space_malloc shmem_space_calloc shmem_space_free shmemx_space_align
    shmemx_space_realloc)
steppe_man3(shmem_space_get_caps shmem_space_get_team shmem_space_get_device_type shmem_get_space
    shmem_team_get_space shmemx_space_query shmemx_space_info_init shmemx_space_path
    shmemx_space_path_name shmemx_space_print)
steppe_man3(shmem_team_is_valid shmemx_team_duplicate)
steppe_man3(shmemx_ctx_create)
steppe_man3(shmemx_ctx_space_quiet shmemx_ctx_space_fence)
steppe_man3(shmemx_space_create_attr shmemx_space_attr_init)
steppe_man3(shmemx_space_device_ptr)
steppe_man3(shmemx_device_handle_create shmemx_device_handle_destroy shmemx_dev_my_pe
    shmemx_dev_n_pes shmemx_dev_ptr shmemx_dev_putmem shmemx_dev_getmem shmemx_dev_putmem_nbi
    shmemx_dev_getmem_nbi shmemx_dev_putmem_signal shmemx_dev_putmem_signal_nbi
    shmemx_dev_signal_op shmemx_dev_signal_fetch shmemx_dev_signal_wait_until shmemx_dev_fence
    shmemx_dev_quiet shmemx_dev_barrier)
steppe_man3(shmemx_device_count shmemx_device_describe)
list(TRANSFORM STEPPE_TYPES_reduce_sum REPLACE "(.+)" "shmemx_\\1_sum_reduce_on_stream"
    OUTPUT_VARIABLE on_stream)
foreach(operation put put_nbi get get_nbi)
    list(TRANSFORM STEPPE_TYPES_rma REPLACE "(.+)" "shmemx_\\1_${operation}_on_stream"
        OUTPUT_VARIABLE typed)
    list(APPEND on_stream ${typed})
endforeach()
steppe_man3(shmemx_putmem_on_stream ${on_stream} shmemx_putmem_nbi_on_stream shmemx_getmem_on_stream
    shmemx_getmem_nbi_on_stream shmemx_putmem_signal_on_stream shmemx_putmem_signal_nbi_on_stream
    shmemx_signal_op_on_stream shmemx_signal_wait_until_on_stream shmemx_quiet_on_stream
    shmemx_barrier_all_on_stream shmemx_sync_all_on_stream shmemx_barrier_on_stream
    shmemx_sync_on_stream shmemx_broadcastmem_on_stream)
steppe_man3(shmemx_buffer_register shmemx_buffer_register_attr)
steppe_man3(shmemx_space_persist)
steppe_man3(shmemx_space_stat)
steppe_man3(shmemx_space_part shmemx_space_part_release)
steppe_man3(shmemx_space_root_set shmemx_space_root_get)
steppe_man3(shmemx_info_print shmemx_version)

# The generated pages, and a symbolic link for each further name of a routine: 1700 of them.
list(TRANSFORM STEPPE_MAN_PAGES REPLACE "(.+)" "docs/man/\\1.3" OUTPUT_VARIABLE pages)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
install(CODE "set(STEPPE_MAN3 \"${CMAKE_INSTALL_MANDIR}/man3\")
    if(NOT IS_ABSOLUTE \"\${STEPPE_MAN3}\")
        string(PREPEND STEPPE_MAN3 \"\${CMAKE_INSTALL_PREFIX}/\")
    endif()")
install(SCRIPT cmake/InstallManLinks.cmake)

# ---- for the shell: completion, environment module ------------------------------------------

foreach(what BIN MAN LIB)
    file(RELATIVE_PATH STEPPE_MODULE_${what}
        ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_${what}DIR})
endforeach()
configure_file(packaging/modulefile.in ${PROJECT_BINARY_DIR}/modulefile @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/modulefile
    DESTINATION ${CMAKE_INSTALL_DATADIR}/modules/modulefiles RENAME steppe)
install(FILES packaging/completion.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME steppe-bench)
foreach(name oshcc oshc++ oshCC oshcxx oshrun oshinfo) # found by the command's name
    install(CODE "file(CREATE_LINK steppe-bench
        \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/bash-completion/completions/${name}\"
        SYMBOLIC)")
endforeach()

# ---- guide and examples ----------------------------------------------------------------------

install(FILES docs/guide-spaces.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING PATTERN "*.[ch]")
