# SPDX-License-Identifier: Apache-2.0
set(user ${CMAKE_SOURCE_DIR}/user)
set(cgroups ${user}/cgroup_selection.c ${user}/cgroup_locate.c ${user}/cgroup_nearest.c ${user}/cgroup_rule.c)
panopy_unit_test(base_text_test SOURCES base_text_test.c STAGES base)
panopy_unit_test(cli_options_test
    SOURCES cli_options_test.c ${user}/options.c ${user}/options_table.c ${user}/options_value.c ${user}/options_help.c
        ${user}/selection.c ${cgroups}
    STAGES base discover)
panopy_unit_test(cli_report_test
    SOURCES cli_report_test.c ${user}/ps_table.c ${user}/doctor_report.c ${user}/progress.c ${user}/export/json_text.c ${user}/export/process_json.c
        ${user}/kernel/features.c ${user}/kernel/host_probes.c ${user}/kernel/bpf_probes.c ${user}/kernel/perf_probes.c
    STAGES base discover runtime
    LIBS panopy::json_c)
panopy_unit_test(export_stats_table_test
    SOURCES export_stats_table_test.c
    STAGES base discover runtime symbolize aggregate export)
panopy_unit_test(export_summary_test
    SOURCES export_summary_test.c
    STAGES base discover runtime symbolize aggregate export)
foreach(test target_table_test target_table_scan_test)
    panopy_unit_test(${test} SOURCES ${test}.c target_table_stubs.c ${user}/target_table.c ${user}/thread_seed.c ${user}/look_debt.c ${user}/followed_tree.c ${user}/process_rows.c
            ${user}/awaited_pids.c ${user}/selection.c ${cgroups}
        STAGES base discover)
endforeach()
panopy_unit_test(selection_test
    SOURCES selection_test.c ${user}/selection.c ${cgroups}
    STAGES base discover)
panopy_unit_test(cgroup_selection_test
    SOURCES cgroup_selection_test.c ${cgroups}
    STAGES base discover)
