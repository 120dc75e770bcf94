# SPDX-License-Identifier: Apache-2.0
panopy_fuzz_test(line_table_fuzz SOURCES line_table_fuzz.c STAGES base symbolize)
panopy_fuzz_test(code_record_fuzz SOURCES code_record_fuzz.c STAGES base symbolize)
panopy_fuzz_test(py_string_fuzz SOURCES py_string_fuzz.c ${CMAKE_SOURCE_DIR}/user/export/escape.c STAGES base symbolize)
