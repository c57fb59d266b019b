# SPDX-License-Identifier: BSD-3-Clause
# libsteppe.so and its modules. The directories add their sources to steppe_core, compiled once; the library and
# the archive that unit tests link (hidden symbols and all) are made of the same objects.

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type_upper)
string(STRIP "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type_upper}}" STEPPE_BUILD_FLAGS)

add_library(steppe_core OBJECT)
target_compile_definitions(steppe_core PRIVATE STP_VERSION="${PROJECT_VERSION}")
target_include_directories(steppe_core PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_link_libraries(steppe_core PRIVATE steppe_options Threads::Threads)
steppe_limit_frames(steppe_core ${STEPPE_FRAME})
steppe_count_lines(steppe_core)

add_library(steppe SHARED $<TARGET_OBJECTS:steppe_core>)
add_library(Steppe::steppe ALIAS steppe)
steppe_link_counted(steppe PRIVATE)
set_target_properties(steppe PROPERTIES
    VERSION 1.${PROJECT_VERSION}
    SOVERSION 1
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/libsteppe.map)
target_include_directories(steppe INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Only libc: the modules are opened at run time, by the jobs that need them.
target_link_libraries(steppe PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
# What the library calls of its own stays inside: a profiling tool sees the program's calls only.
# It has exit handlers and mappings: dlclose() must not take it away from under them.
target_link_options(steppe PRIVATE
    -Wl,--no-undefined -Wl,--as-needed -Wl,-Bsymbolic-functions -Wl,-z,nodelete
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/libsteppe.map
    -static-libgcc) # the unwinder, for src/diag/backtrace.c: nothing is loaded in a handler

# Programs linked with it find the modules through their run path: base/fabric_module_dlopen.c.
if(STEPPE_STATIC)
    add_library(steppe_static STATIC $<TARGET_OBJECTS:steppe_core>)
    add_library(Steppe::steppe_static ALIAS steppe_static)
    steppe_link_counted(steppe_static INTERFACE)
    set_target_properties(steppe_static PROPERTIES
        OUTPUT_NAME steppe
        ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
    target_include_directories(steppe_static INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(steppe_static PUBLIC Threads::Threads ${CMAKE_DL_LIBS} m)
endif()

# Other names of the library, for makefiles written for another OpenSHMEM. The folder with these
# names is on no default path. Therefore the names hide no other library.
set(STEPPE_COMPAT_LIBRARIES sma oshmem openshmem)
set(STEPPE_COMPAT_DIR ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/steppe/compat)
file(MAKE_DIRECTORY ${STEPPE_COMPAT_DIR})
foreach(name ${STEPPE_COMPAT_LIBRARIES})
    file(CREATE_LINK ../../libsteppe.so ${STEPPE_COMPAT_DIR}/lib${name}.so SYMBOLIC)
endforeach()

# The target becomes steppe/<name>.so beside the library, which opens it at run time. It exports
# what its map names, and leaves nothing undefined: what it has of the library comes in a table.
function(steppe_make_module target name)
    set(map ${PROJECT_SOURCE_DIR}/cmake/libsteppe_${name}.map)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE steppe_options Threads::Threads)
    steppe_count_lines(${target})
    steppe_link_counted(${target} PRIVATE)
    target_link_options(${target} PRIVATE
        -Wl,--no-undefined -Wl,--as-needed -Wl,--version-script=${map})
    set_target_properties(${target} PROPERTIES
        PREFIX ""
        OUTPUT_NAME ${name}
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/steppe
        LINK_DEPENDS ${map})
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/steppe)
endfunction()
