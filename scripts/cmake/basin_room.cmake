# SPDX-License-Identifier: GPL-3.0-or-later
#
# basin_room(NAME [SOURCES files...] [TWICE files...] [PUBLIC libs...] [PRIVATE libs...])
#
# Makes the library basin::NAME of the room in the current folder. TWICE sources hold numerical
# kernels and are compiled once per precision, with KERN_REAL_BITS 32 and 64; their flags let the
# compiler vectorise loops around maths functions, while NaN and infinity keep their meaning.
function(basin_room name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;TWICE;PUBLIC;PRIVATE")
    set(room basin_${name})
    # A room may be declared before it has sources; it then passes on the rooms it uses.
    add_library(${room} STATIC ${arg_SOURCES})
    add_library(basin::${name} ALIAS ${room})
    target_include_directories(${room} PUBLIC "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${room} PUBLIC ${arg_PUBLIC} m PRIVATE ${arg_PRIVATE}
                                                                 basin::options)
    # Maps in plug-ins link against these archives.
    set_target_properties(${room} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    if(NOT arg_TWICE)
        return()
    endif()
    foreach(bits IN ITEMS 32 64)
        set(part ${room}_f${bits})
        add_library(${part} OBJECT ${arg_TWICE})
        target_compile_definitions(${part} PRIVATE KERN_REAL_BITS=${bits})
        target_compile_options(
            ${part} PRIVATE -fno-math-errno -fno-trapping-math -ffp-contract=fast
                            $<$<NOT:$<CONFIG:Debug>>:-O3>)
        target_include_directories(${part} PRIVATE "${PROJECT_SOURCE_DIR}")
        target_link_libraries(${part} PRIVATE ${arg_PUBLIC} ${arg_PRIVATE} basin::options)
        set_target_properties(${part} PROPERTIES POSITION_INDEPENDENT_CODE ON)
        target_sources(${room} PRIVATE $<TARGET_OBJECTS:${part}>)
    endforeach()
endfunction()
