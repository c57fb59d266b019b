# SPDX-License-Identifier: BSD-3-Clause
# find_package(OpenSHMEM): defines the imported target OpenSHMEM::OpenSHMEM, another name of
# Steppe::steppe, and the variables of older packages. CMake finds this file if CMAKE_PREFIX_PATH
# contains the folder lib/steppe/compat of the installation.
get_filename_component(compat ${CMAKE_CURRENT_LIST_DIR} REALPATH)
include(${compat}/../../../cmake/Steppe/SteppeConfig.cmake)
if(NOT TARGET OpenSHMEM::OpenSHMEM)
    add_library(OpenSHMEM::OpenSHMEM INTERFACE IMPORTED)
    set_target_properties(OpenSHMEM::OpenSHMEM PROPERTIES INTERFACE_LINK_LIBRARIES Steppe::steppe)
endif()
get_target_property(OpenSHMEM_INCLUDE_DIRS Steppe::steppe INTERFACE_INCLUDE_DIRECTORIES)
set(OpenSHMEM_LIBRARIES OpenSHMEM::OpenSHMEM)
