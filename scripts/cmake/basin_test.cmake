# SPDX-License-Identifier: GPL-3.0-or-later
#
# basin_test(NAME [PROGRAM] SOURCES files... [LIBS libs...] [LABELS labels...] [TIMEOUT seconds])
#
# Makes one cmocka program and registers it with ctest. BASIN_SOURCE_DIR is the repository root,
# for golden files; with PROGRAM, BASIN_PROGRAM is the path of the command line program. Sanitized
# builds get four times the time. Threads that wait must not spin: tests share their cores with one
# another.
set(BASIN_TEST_ENVIRONMENT
    "OMP_WAIT_POLICY=passive"
    "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1")

pkg_check_modules(BASIN_CMOCKA REQUIRED IMPORTED_TARGET cmocka)

function(basin_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "PROGRAM" "TIMEOUT" "SOURCES;LIBS;LABELS")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 120)
    endif()
    if(BASIN_SANITIZE)
        math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_compile_definitions(${name} PRIVATE BASIN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name} PRIVATE ${arg_LIBS} basin::options PkgConfig::BASIN_CMOCKA m)
    if(arg_PROGRAM)
        add_dependencies(${name} basin_program)
        target_compile_definitions(${name} PRIVATE BASIN_PROGRAM="$<TARGET_FILE:basin_program>")
    endif()
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${BASIN_TEST_ENVIRONMENT}" TIMEOUT
                                            ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()
