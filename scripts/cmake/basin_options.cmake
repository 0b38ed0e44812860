# SPDX-License-Identifier: GPL-3.0-or-later
#
# basin::options carries what every target of the project is compiled with: the language, the
# warnings and the sanitizers. Nothing here reaches a project that uses the libraries.
add_library(basin_options INTERFACE)
add_library(basin::options ALIAS basin_options)

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The BLAS may live outside the loader's default folders.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

target_compile_options(
    basin_options
    INTERFACE
        -Wall
        -Wextra
        -Wpedantic
        -Wconversion
        -Wsign-conversion
        -Wdouble-promotion
        -Wshadow
        -Wmissing-prototypes
        -Wstrict-prototypes
        -Wcast-qual
        -Wvla
        -Wpointer-arith
        -Wundef
        -Wwrite-strings
        $<$<BOOL:${BASIN_WERROR}>:-Werror>)

if(BASIN_SANITIZE)
    target_compile_options(
        basin_options INTERFACE -fsanitize=${BASIN_SANITIZE} -fno-sanitize-recover=all
                                -fno-omit-frame-pointer)
    target_link_options(basin_options INTERFACE -fsanitize=${BASIN_SANITIZE})
endif()
