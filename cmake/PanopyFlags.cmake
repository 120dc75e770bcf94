# SPDX-License-Identifier: Apache-2.0
# panopy_flags: what every C file of user space is compiled with.
# panopy_sanitizers: what is added to it for tests, whatever the build type.

add_library(panopy_flags INTERFACE)
target_compile_options(panopy_flags INTERFACE -std=gnu17 -Wall -Wextra -fno-omit-frame-pointer)
# Empty, so that a source that defines it too agrees.
target_compile_definitions(panopy_flags INTERFACE _GNU_SOURCE= PANOPY_VERSION="${PROJECT_VERSION}")
target_include_directories(panopy_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/user)
if(PANOPY_WERROR)
    target_compile_options(panopy_flags INTERFACE -Werror)
endif()

add_library(panopy_sanitizers INTERFACE)
set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined)
target_compile_options(panopy_sanitizers INTERFACE ${sanitize} -O1 -g -UNDEBUG)
target_link_options(panopy_sanitizers INTERFACE ${sanitize})
if(PANOPY_SANITIZE)
    target_compile_options(panopy_flags INTERFACE ${sanitize})
    target_link_options(panopy_flags INTERFACE ${sanitize})
endif()
