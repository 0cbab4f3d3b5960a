#pragma once

#include <string_view>

namespace neuroshard::io {

/// The style sheet of the report. Colours of charts are the colour-blind-safe palette of Okabe and
/// Ito, lightened on dark pages.
inline constexpr std::string_view kReportStyle = R"css(
:root { color-scheme: light dark; --page: #ffffff; --ink: #1b1f24; --faint: #667079;
  --line: #d4d9de; --compute: #0072b2; --forward: #e69f00; --backward: #009e73;
  --dense: #cc79a7; --limit: #c0392b;
  --t0: #a6c8e4; --t1: #f3d08a; --t2: #a5dcc8; --t3: #e8b9d2; --t4: #d9d6a0; --t5: #c9b8e8;
  --t6: #f0bfa0; --t7: #bfc7cf; }
@media (prefers-color-scheme: dark) { :root { --page: #14181c; --ink: #e6e9ec; --faint: #98a2ac;
  --line: #39414a; --compute: #56b4e9; --forward: #f0b840; --backward: #3cc79f;
  --dense: #d99abf; --limit: #ff7b6b;
  --t0: #2f5d80; --t1: #7a5c1e; --t2: #2c6a55; --t3: #7a4862; --t4: #65622f; --t5: #54437a;
  --t6: #7c4c30; --t7: #4b545d; } }
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 1000px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
p.facts, p.legend { color: var(--faint); }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .label { text-anchor: end; } svg .caption { text-anchor: middle; pointer-events: none; }
svg .note { fill: var(--faint); } svg .slow { font-weight: bold; fill: var(--ink); }
svg .mark { stroke: var(--limit); stroke-width: 1.5; stroke-dasharray: 4 3; }
svg .mark-label { fill: var(--limit); text-anchor: middle; }
svg rect { stroke: var(--page); stroke-width: 0.8; }
.compute { fill: var(--compute); background: var(--compute); }
.forward { fill: var(--forward); background: var(--forward); }
.backward { fill: var(--backward); background: var(--backward); }
.dense { fill: var(--dense); background: var(--dense); }
.other { fill: var(--t7); }
.t0 { fill: var(--t0); } .t1 { fill: var(--t1); } .t2 { fill: var(--t2); } .t3 { fill: var(--t3); }
.t4 { fill: var(--t4); } .t5 { fill: var(--t5); } .t6 { fill: var(--t6); } .t7 { fill: var(--t7); }
span.key { display: inline-block; width: 0.8em; height: 0.8em; margin: 0 0.35em 0 1em; }
.badge { font-size: 1rem; padding: 0.15rem 0.6rem; border-radius: 0.3rem; color: var(--page);
  vertical-align: middle; white-space: nowrap; }
.badge.unmeasured { background: var(--limit); } .badge.measured { background: var(--backward); }
code { overflow-wrap: anywhere; }
input[name="width"] + label { margin-right: 1.2rem; }
#by-cost:checked ~ .by-columns, #by-columns:checked ~ .by-cost { display: none; }
div.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; }
th { color: var(--faint); font-weight: normal; } th.text, td.text { text-align: left; }
)css";

}  // namespace neuroshard::io
