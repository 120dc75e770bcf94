# SPDX-License-Identifier: Apache-2.0
panopy_unit_test(discover_proc_maps_test SOURCES discover_proc_maps_test.c STAGES base discover)
panopy_unit_test(discover_command_text_test SOURCES discover_command_text_test.c STAGES base discover)
panopy_unit_test(discover_process_table_test SOURCES discover_process_table_test.c STAGES base discover)
panopy_unit_test(discover_proc_scan_test SOURCES discover_proc_scan_test.c STAGES base discover)
