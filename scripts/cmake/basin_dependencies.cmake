# SPDX-License-Identifier: GPL-3.0-or-later
#
# One target per outside library. GSL and OpenBLAS get targets of our own: CMake's GSL target
# brings GSL's slow reference BLAS, which then serves every cblas call. Here GSL is followed by
# OpenBLAS on the link line and the reference BLAS is left out; tests/kernels/test_blas_origin.c
# checks the outcome in a finished program.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(BASIN_CAIRO REQUIRED IMPORTED_TARGET cairo cairo-pdf cairo-svg cairo-png)
pkg_check_modules(BASIN_PANGO REQUIRED IMPORTED_TARGET pangocairo)
pkg_check_modules(BASIN_HDF5 REQUIRED IMPORTED_TARGET hdf5)
pkg_check_modules(BASIN_CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(BASIN_SDL2 REQUIRED IMPORTED_TARGET sdl2)
add_library(basin::cairo ALIAS PkgConfig::BASIN_CAIRO)
add_library(basin::pango ALIAS PkgConfig::BASIN_PANGO)
add_library(basin::hdf5 ALIAS PkgConfig::BASIN_HDF5)
add_library(basin::cjson ALIAS PkgConfig::BASIN_CJSON)
add_library(basin::sdl2 ALIAS PkgConfig::BASIN_SDL2)

if(BASIN_OPENMP)
    find_package(OpenMP REQUIRED COMPONENTS C)
endif()

# basin_import_library(TARGET HEADER header LIBRARY names... [SUFFIXES folders...] [LIBS libs...])
# makes basin::TARGET from a header and a library file. SUFFIXES are folders below the library
# folders to look in first.
function(basin_import_library target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER" "LIBRARY;SUFFIXES;LIBS")
    string(TOUPPER ${target} upper)
    find_path(BASIN_${upper}_INCLUDE NAMES ${arg_HEADER} PATH_SUFFIXES ${arg_SUFFIXES} REQUIRED)
    find_library(BASIN_${upper}_LIBRARY NAMES ${arg_LIBRARY} PATH_SUFFIXES ${arg_SUFFIXES}
                 REQUIRED)
    mark_as_advanced(BASIN_${upper}_INCLUDE BASIN_${upper}_LIBRARY)
    add_library(basin::${target} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(
        basin::${target}
        PROPERTIES IMPORTED_LOCATION "${BASIN_${upper}_LIBRARY}"
                   INTERFACE_INCLUDE_DIRECTORIES "${BASIN_${upper}_INCLUDE}"
                   INTERFACE_LINK_LIBRARIES "${arg_LIBS}")
endfunction()

# The OpenMP build of OpenBLAS: its threads and ours come from one pool (the pthread build beside
# OpenMP loses a third to a half). Debian and Fedora keep it under these names.
basin_import_library(
    openblas
    HEADER cblas.h
    LIBRARY openblaso openblas
    SUFFIXES openblas-openmp openblas)
basin_import_library(lapacke HEADER lapacke.h LIBRARY lapacke LIBS basin::openblas)
# Debian's ARPACK-ng brings whichever BLAS and LAPACK the system prefers. What a program links
# itself comes before what its libraries bring, so ARPACK's calls end in OpenBLAS as well.
basin_import_library(arpack HEADER arpack/arpack.h LIBRARY arpack LIBS basin::openblas)
basin_import_library(gsl HEADER gsl/gsl_math.h LIBRARY gsl LIBS basin::openblas m)
basin_import_library(dnnl HEADER dnnl.h LIBRARY dnnl)
# libxsmm is a static archive that expects a BLAS and the system's loader and clock libraries.
basin_import_library(xsmm HEADER libxsmm.h LIBRARY xsmm LIBS basin::openblas
                     ${CMAKE_DL_LIBS} pthread rt m)
