# SPDX-License-Identifier: BSD-3-Clause
# Runs when installing: links so that man(1) finds each routine under each of its names. Needs
# STEPPE_MAN3, the folder of the pages.
include(${CMAKE_CURRENT_LIST_DIR}/SteppeManLinks.cmake)

# Put into the list all what a name stands for.
function(steppe_expand name all)
    if(NOT name MATCHES "@(.*)@")
        list(APPEND ${all} ${name})
    else()
        set(class ${CMAKE_MATCH_1})
        foreach(type IN LISTS STEPPE_TYPES_${class})
            string(REPLACE "@${class}@" ${type} expanded ${name})
            list(APPEND ${all} ${expanded})
        endforeach()
    endif()
    set(${all} ${${all}} PARENT_SCOPE)
endfunction()

list(LENGTH STEPPE_MAN_PAGES n_pages)
message(STATUS "Installing: links to ${n_pages} manual pages in ${STEPPE_MAN3}")
foreach(page IN LISTS STEPPE_MAN_PAGES)
    set(names)
    foreach(name IN LISTS STEPPE_MAN_LINKS_${page})
        steppe_expand(${name} names)
    endforeach()
    foreach(name IN LISTS names)
        file(CREATE_LINK ${page}.3 "$ENV{DESTDIR}${STEPPE_MAN3}/${name}.3" SYMBOLIC)
        list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${STEPPE_MAN3}/${name}.3")
    endforeach()
endforeach()
