# SPDX-License-Identifier: Apache-2.0
panopy_unit_test(export_escape_test SOURCES export_escape_test.c ${CMAKE_SOURCE_DIR}/user/export/escape.c
                 ${CMAKE_SOURCE_DIR}/user/export/sample_text.c STAGES base)
panopy_unit_test(export_split_dir_test SOURCES export_split_dir_test.c ${CMAKE_SOURCE_DIR}/user/export/split_dir.c
                 STAGES base)
panopy_unit_test(export_root_label_test
    SOURCES export_root_label_test.c ${CMAKE_SOURCE_DIR}/user/export/root_label.c
            ${CMAKE_SOURCE_DIR}/user/discover/container_id.c ${CMAKE_SOURCE_DIR}/user/discover/container_name.c
            ${CMAKE_SOURCE_DIR}/user/discover/container_table.c
    STAGES base LIBS panopy::json_c)
