# SPDX-License-Identifier: Apache-2.0
"""From the figures of all runs to medians, ratios, a table and a plot."""
import math
import statistics

HEAD = ["tool", "expected", "got", "missing %", "lost or marked", "impossible %", "share error, pp", "tool CPU, s",
        "in the kernel, s", "us per good sample", "ratio", "recording only", "with start-up", "slow-down %", "peak MiB",
        "bytes written", "start-up, s"]


def _median(runs, key):
    values = [run[key] for run in runs if run.get(key) is not None]
    return statistics.median(values) if values else None


def share_error(runs):
    """Largest difference, in percentage points, between a section's share of the samples and of the CPU time, over
    all rounds together; None where the workload has no sections or nothing was seen of them."""
    seen = [sum(column) for column in zip(*(run["sections"] for run in runs))]
    true = [sum(column) for column in zip(*(run["true_sections"] for run in runs))]
    if len(seen) < 2 or not sum(seen) or not sum(true):
        return None
    return max(abs(100 * a / sum(seen) - 100 * b / sum(true)) for a, b in zip(seen, true))


def missing_percent(run):
    """Of the samples that the target's CPU time stood for, those that are not in the profile."""
    return 100 * max(0.0, 1 - run["samples"] / run["expected"]) if run["expected"] else None


def summed_up(runs):
    """One tool on one workload: medians of its rounds."""
    done = [run for run in runs if "failed" not in run]
    if not done:
        return {"failed": runs[0]["failed"] if runs else "not run"}
    row = {key: _median(done, key) for key in done[0] if isinstance(done[0][key], (int, float, type(None)))}
    row["share_error_pp"] = share_error(done)
    row["missing_percent"] = statistics.median([missing_percent(run) or 0.0 for run in done])
    row["lost_or_marked"] = statistics.median([run["lost"] + run["flagged"] for run in done])
    judged = sum(run["good"] + run["impossible"] for run in done)
    row["impossible_percent"] = 100 * sum(run["impossible"] for run in done) / judged if judged else None
    row["impossible_total"] = sum(run["impossible"] for run in done)
    row["lost_total"] = sum(run["lost"] for run in done)
    row["flagged_total"] = sum(run["flagged"] for run in done)
    row["rounds"], row["failed_rounds"] = len(done), len(runs) - len(done)
    return row


def with_ratios(rows, tools):
    """Adds each tool's cost beside panopy's on the same interpreter at the same rate."""
    for name, row in rows.items():
        base = rows.get("panopy") if tools[name].newest >= (3, 15) else rows.get("panopyon3.14")
        mine, its = (each.get("cost_s_per_good_sample") if each else None for each in (row, base))
        row["ratio"] = mine / its if mine and its else None
    return rows


COSTS = ("cost_s_per_good_sample", "cost_recording_s", "cost_with_startup_s")


def _cell(value, form):
    return "-" if value is None else format(value, form)


def cells(tool, row):
    if "failed" in row:
        return [tool.name, "not measured: " + row["failed"][:120]]
    us = {key: None if row[key] is None else row[key] * 1e6 for key in COSTS}
    name = tool.name + (" (did not end in time)" if row.get("interrupted") else "")
    return [name, _cell(row["expected"], ",.0f"), _cell(row["samples"], ",.0f"),
            _cell(row["missing_percent"], ".1f"),
            _cell(row["lost_or_marked"], ",.0f"),
            _cell(row["impossible_percent"], ".2f"), _cell(row["share_error_pp"], ".1f"), _cell(row["cpu_s"], ".3f"),
            _cell(row["kernel_s"], ".3f"), _cell(us["cost_s_per_good_sample"], ",.1f"), _cell(row["ratio"], ",.1f"),
            _cell(us["cost_recording_s"], ",.1f"), _cell(us["cost_with_startup_s"], ",.1f"),
            _cell(None if row["target_slowdown"] is None else 100 * row["target_slowdown"], ".1f"),
            _cell(row["peak_bytes"] / 2**20, ".0f"), _cell(row["bytes_written"], ",.0f"),
            _cell(row["startup_s"] if row["startup_s"] is not None else row["wall_less_recording_s"], ".2f")]


def table(title, rows, tools):
    """Markdown, so that it can be kept as it is."""
    lines = [HEAD, *(cells(tools[name], row) for name, row in rows.items())]
    lines = [line + [""] * (len(HEAD) - len(line)) for line in lines]
    full = [line for line in lines if line[-1]]
    widths = [max(len(line[i]) for line in (lines if i == 0 else full)) for i in range(len(HEAD))]
    text = [f"\n### {title}\n"]
    for number, line in enumerate(lines):
        text.append("| " + " | ".join(cell.rjust(width) if i and line[-1] else cell.ljust(width)
                                      for i, (cell, width) in enumerate(zip(line, widths))) + " |")
        if number == 0:
            text.append("|" + "|".join("-" * (width + 2) if i == 0 else "-" * (width + 1) + ":"
                                       for i, width in enumerate(widths)) + "|")
    return "\n".join(text)


def ranking(results, tools):
    """Per workload the best whole tool and how many times panopy's cost it is."""
    lines = ["\n### Whole cost per good sample, the best other whole tool against panopy\n",
             "| workload | panopy, us | best other | us | ratio |", "|---|---:|---|---:|---:|"]
    for title, rows in results.items():
        base = rows.get("panopy", {}).get("cost_s_per_good_sample")
        others = {name: row["cost_s_per_good_sample"] for name, row in rows.items() if tools[name].ranked
                  and not name.startswith("panopy") and row.get("cost_s_per_good_sample")}
        if not base or not others:
            lines.append(f"| {title} | {_cell(base and base * 1e6, '.1f')} | - | - | - |")
            continue
        best = min(others, key=others.get)
        ratio = rows[best]["ratio"]
        lines.append(f"| {title} | {base * 1e6:.1f} | {tools[best].name} | {others[best] * 1e6:,.1f} | "
                     f"{_cell(ratio, '.1f')} |")
    return "\n".join(lines)


COLOURS = ("#1b6ca8", "#7fb2d9", "#c0392b", "#e08e79", "#8e6c8a", "#2e8b57", "#8fc79b", "#d39b00", "#5f9ea0", "#777777")
ROW, LEFT, WIDTH, TOP = 16, 190, 620, 60


def _escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def svg(results, tools):
    """Bars of whole cost per good sample on a logarithmic axis, by workload."""
    names = [name for name in tools
             if any(rows.get(name, {}).get("cost_s_per_good_sample") for rows in results.values())]
    values = [row["cost_s_per_good_sample"] * 1e6 for rows in results.values() for row in rows.values()
              if row.get("cost_s_per_good_sample")]
    if not values:
        return None
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def place(us):
        return LEFT + WIDTH * (math.log10(us) - low) / (high - low)

    out, y = [], TOP
    for title, rows in results.items():
        out.append(f'<text x="4" y="{y + 12}" font-weight="bold">{_escaped(title)}</text>')
        for name in names:
            us = (rows.get(name, {}).get("cost_s_per_good_sample") or 0) * 1e6
            if us > 0:
                colour = COLOURS[names.index(name) % len(COLOURS)]
                out.append(f'<rect x="{LEFT}" y="{y + 2}" width="{max(place(us) - LEFT, 1):.1f}" height="{ROW - 4}" '
                           f'fill="{colour}"/><text x="{place(us) + 4:.1f}" y="{y + 12}">'
                           f'{_escaped(tools[name].name)} {us:,.1f}</text>')
                y += ROW
        y += ROW
    axis = [f'<line x1="{place(10**power):.1f}" y1="{TOP - 8}" x2="{place(10**power):.1f}" y2="{y}" stroke="#ddd"/>'
            f'<text x="{place(10**power):.1f}" y="{TOP - 14}" text-anchor="middle">{10.0**power:g}</text>'
            for power in range(low, high + 1)]
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 200}" height="{y + 10}" '
            'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>',
            '<text x="4" y="18" font-size="14">Whole cost per good sample, microseconds of CPU (log scale)</text>']
    return "\n".join([*head, *axis, *out, "</svg>\n"])
