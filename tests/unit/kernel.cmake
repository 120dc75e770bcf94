# SPDX-License-Identifier: Apache-2.0
# One module, without the stage's libbpf.
panopy_unit_test(kernel_cpu_list_test SOURCES kernel_cpu_list_test.c ${CMAKE_SOURCE_DIR}/user/kernel/cpu_list.c)
# Stands in for the kernel and libbpf.
panopy_unit_test(kernel_perf_timers_test
    SOURCES kernel_perf_timers_test.c ${CMAKE_SOURCE_DIR}/user/kernel/perf_timers.c ${CMAKE_SOURCE_DIR}/user/kernel/cpu_list.c)
target_link_options(kernel_perf_timers_test PRIVATE -Wl,--wrap=syscall -Wl,--wrap=ioctl -Wl,--wrap=close)
panopy_unit_test(kernel_mapping_record_test
    SOURCES kernel_mapping_record_test.c ${CMAKE_SOURCE_DIR}/user/kernel/mapping_record.c)
panopy_unit_test(kernel_tick_grid_test SOURCES kernel_tick_grid_test.c)
target_include_directories(kernel_tick_grid_test PRIVATE ${CMAKE_SOURCE_DIR}/bpf)
