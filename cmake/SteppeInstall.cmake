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
set(STEPPE_PC_NAME steppe)
set(STEPPE_PC_VERSION ${PROJECT_VERSION})
configure_file(cmake/steppe.pc.in steppe.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/steppe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Names that programs written for another OpenSHMEM ask for. The links "include" and "lib" make
# the folder a prefix, for programs that search in PREFIX/include and PREFIX/lib.
set(compat ${CMAKE_INSTALL_LIBDIR}/steppe/compat)
foreach(name ${STEPPE_COMPAT_LIBRARIES})
    install(FILES ${STEPPE_COMPAT_DIR}/lib${name}.so DESTINATION ${compat})
endforeach()
file(RELATIVE_PATH to_include
    ${CMAKE_INSTALL_PREFIX}/${compat} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
file(CREATE_LINK ${to_include} ${PROJECT_BINARY_DIR}/compat_include SYMBOLIC)
file(CREATE_LINK . ${PROJECT_BINARY_DIR}/compat_lib SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/compat_include DESTINATION ${compat} RENAME include)
install(FILES ${PROJECT_BINARY_DIR}/compat_lib DESTINATION ${compat} RENAME lib)
file(RELATIVE_PATH STEPPE_PC_PREFIX
    ${CMAKE_INSTALL_PREFIX}/${compat}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" STEPPE_PC_PREFIX "${STEPPE_PC_PREFIX}")
set(STEPPE_PC_VERSION 1.6.0) # of the standard, because programs compare with that
foreach(STEPPE_PC_NAME sma oshmem openshmem sandia-openshmem)
    configure_file(cmake/steppe.pc.in compat/${STEPPE_PC_NAME}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/compat/${STEPPE_PC_NAME}.pc
        DESTINATION ${compat}/pkgconfig)
endforeach()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/OpenSHMEMConfigVersion.cmake
    VERSION ${STEPPE_PC_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES cmake/OpenSHMEMConfig.cmake ${PROJECT_BINARY_DIR}/OpenSHMEMConfigVersion.cmake
    DESTINATION ${compat}/cmake)

# The pages lie in the same folders as in the source tree, so that their links work.
install(FILES LICENSE README.md CHANGELOG.md CITATION.cff CODE_OF_CONDUCT.md CONTRIBUTING.md SECURITY.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING REGEX "\\.(md|svg)$"
    PATTERN docs/man EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING REGEX "\\.(c|h|cpp|md)$" PATTERN "Makefile")

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
