# SPDX-License-Identifier: Apache-2.0
# Every stage is compiled a second time with ASan and UBSan, so that the tests of a release build are sanitized too.
#
#   panopy_unit_test(<name> SOURCES <files> STAGES <stages> [LIBS <targets>] [ARGS <words>])
#   panopy_fuzz_test(<name> SOURCES <files> STAGES <stages> [LIBS <targets>] [ARGS <words>])
#   panopy_sanitized_test(<name> LABEL <label> ...)   the same with a label of one's own (replay, golden)
#
# STAGES must name the stages in need directly: object libraries do not pull in others.
# A test exits with 77 to say "skipped"; it prints the reason first.

function(panopy_sanitized_stages)
    foreach(stage IN LISTS PANOPY_STAGES)
        get_target_property(sources panopy_${stage} SOURCES)
        get_target_property(dir panopy_${stage} SOURCE_DIR)
        get_target_property(libraries panopy_${stage} LINK_LIBRARIES)
        get_target_property(includes panopy_${stage} INCLUDE_DIRECTORIES)
        get_target_property(definitions panopy_${stage} COMPILE_DEFINITIONS)
        set(paths)
        foreach(source IN LISTS sources)
            cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${dir})
            list(APPEND paths ${source})
        endforeach()
        set(sanitized_libraries)
        foreach(library IN LISTS libraries)
            string(REGEX REPLACE "^panopy_" "" bare ${library})
            if(bare IN_LIST PANOPY_STAGES)
                set(library ${library}_sanitized)
            endif()
            list(APPEND sanitized_libraries ${library})
        endforeach()
        add_library(panopy_${stage}_sanitized OBJECT EXCLUDE_FROM_ALL ${paths})
        target_link_libraries(panopy_${stage}_sanitized PUBLIC ${sanitized_libraries} panopy_sanitizers)
        if(includes)
            target_include_directories(panopy_${stage}_sanitized PRIVATE ${includes})
        endif()
        if(definitions)
            target_compile_definitions(panopy_${stage}_sanitized PRIVATE ${definitions})
        endif()
    endforeach()
endfunction()

# Linked last: clang takes the last word on a warning. cmocka's tests all take a state that most do not use, and
# tests put records with a flexible end in front of their bytes, and they do with the macros of the oldest cmocka, of
# which 2.0 calls some deprecated.
add_library(panopy_test_flags INTERFACE)
target_compile_options(panopy_test_flags INTERFACE
    -Wno-unused-parameter -Wno-deprecated-declarations $<$<C_COMPILER_ID:Clang>:-Wno-gnu-variable-sized-type-not-at-end>)

pkg_check_modules(cmocka IMPORTED_TARGET GLOBAL cmocka)
if(NOT cmocka_FOUND)
    message(FATAL_ERROR "cmocka is missing: install libcmocka-dev, or configure with -DPANOPY_TESTS=OFF")
endif()

function(panopy_sanitized_test name)
    cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;STAGES;LIBS;ARGS" ${ARGN})
    set(libraries)
    foreach(stage IN LISTS arg_STAGES)
        list(APPEND libraries panopy_${stage}_sanitized)
    endforeach()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 240)
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE ${libraries} ${arg_LIBS} panopy_flags panopy_sanitizers PkgConfig::cmocka
        panopy_test_flags)
    target_compile_definitions(${name} PRIVATE PANOPY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    add_test(NAME ${arg_LABEL}.${name} COMMAND ${name} ${arg_ARGS})
    set_tests_properties(${arg_LABEL}.${name} PROPERTIES
        LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
        ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1;ASAN_OPTIONS=detect_leaks=1")
endfunction()

function(panopy_unit_test name)
    panopy_sanitized_test(${name} LABEL unit ${ARGN})
endfunction()

function(panopy_fuzz_test name)
    panopy_sanitized_test(${name} LABEL fuzz ${ARGN})
endfunction()
