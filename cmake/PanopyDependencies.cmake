# SPDX-License-Identifier: Apache-2.0
# Libraries and tools, each with the sentence that a user needs when it is missing.

find_package(PkgConfig REQUIRED)

function(panopy_library target module package)
    pkg_check_modules(${target} IMPORTED_TARGET GLOBAL ${module})
    if(NOT ${target}_FOUND)
        message(FATAL_ERROR "${module} is missing: install ${package} (scripts/dependencies lists all)")
    endif()
    add_library(panopy::${target} ALIAS PkgConfig::${target})
endfunction()

panopy_library(libbpf "libbpf>=1.1" libbpf-dev)
panopy_library(libelf libelf libelf-dev)
panopy_library(zlib zlib zlib1g-dev)
panopy_library(json_c json-c libjson-c-dev)

# clang for BPF may be another one than CMAKE_C_COMPILER: gcc builds user space by default.
find_program(PANOPY_BPF_CLANG NAMES clang clang-22 clang-21 clang-20 clang-19 clang-18 clang-17 clang-16 clang-15
             clang-14 NO_CMAKE_FIND_ROOT_PATH DOC "clang (14 or newer) that compiles the BPF programs")
# Ubuntu's /usr/sbin/bpftool is a wrapper that refuses to run when linux-tools of the running kernel is missing.
file(GLOB linux_tools /usr/lib/linux-tools/*/ /usr/lib/linux-tools-*/)
find_program(PANOPY_BPFTOOL NAMES bpftool PATHS ${linux_tools} /usr/sbin /sbin NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH
             DOC "bpftool that links objects and writes skeletons")
find_program(PANOPY_BPFTOOL NAMES bpftool NO_CMAKE_FIND_ROOT_PATH)
foreach(tool PANOPY_BPF_CLANG PANOPY_BPFTOOL)
    if(NOT ${tool})
        message(FATAL_ERROR "${tool} not found: install clang and bpftool (scripts/dependencies lists all)")
    endif()
endforeach()
