# SPDX-License-Identifier: Apache-2.0
panopy_unit_test(export_escape_test SOURCES export_escape_test.c ${CMAKE_SOURCE_DIR}/user/export/escape.c
                 ${CMAKE_SOURCE_DIR}/user/export/sample_text.c STAGES base)
