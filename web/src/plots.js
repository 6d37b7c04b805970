// The small plots of a report, drawn anew when the theme changes. Colours are CSS variables: Plot drops light-dark().
import * as Plot from '@observablehq/plot';
import { onTheme } from './theme.js';

const COLORS = ['var(--muted)', 'var(--accent)', 'var(--bad)', 'var(--good)', 'var(--third)', 'var(--fourth)'];
const figures = (value) => String(+value.toPrecision(2));

const frame = (options) =>
  Plot.plot({
    width: 560,
    height: 300,
    marginLeft: 60,
    marginBottom: 38,
    style: { background: 'transparent', fontSize: '12px', overflow: 'visible' },
    ...options,
  });

// Colour of series by name; a legend where there are several.
const byName = (series, first) => ({
  legend: series.length > 1,
  domain: series.map((each) => each.name),
  range: series.map((each, k) => (each.color ? `var(--${each.color})` : COLORS[(k + first) % COLORS.length])),
});

const scale = (section, axis) => {
  const log = section[`log_${axis}`];
  return {
    label: section[axis] ?? null,
    grid: axis === 'y',
    type: log ? 'log' : undefined,
    ticks: log ? 4 : undefined,
    tickFormat: log ? figures : undefined,
  };
};

const all = (section) =>
  section.series.flatMap((each) => each.y.map((y, k) => ({ x: each.x ? each.x[k] : k + 1, y, name: each.name })));
const flat = (section) => all(section).filter((point) => point.y !== null);

const drawers = {
  points: (section) =>
    frame({
      x: scale(section, 'x'),
      y: scale(section, 'y'),
      color: byName(section.series, section.series.length > 1 ? 0 : 1),
      marks: [
        Plot.dot(flat(section), { x: 'x', y: 'y', stroke: 'name', fill: 'name', fillOpacity: 0.25, r: 3, tip: true }),
      ],
    }),
  lines: (section) =>
    frame({
      x: scale(section, 'x'),
      y: scale(section, 'y'),
      color: byName(section.series, section.series.length > 1 ? 0 : 1),
      marks: [
        ...section.series
          .filter((each) => each.low)
          .map((each) =>
            Plot.areaY(
              each.x.map((x, k) => ({ x, low: each.low[k], high: each.high[k] })),
              { x: 'x', y1: 'low', y2: 'high', fill: 'var(--accent)', fillOpacity: 0.15 },
            ),
          ),
        // Numbers that do not exist leave gaps: Plot wants them as NaN.
        Plot.line(all(section).map((point) => ({ ...point, y: point.y ?? NaN })), { x: 'x', y: 'y', stroke: 'name', strokeWidth: 1.5, tip: true }),
        ...(section.marks ?? []).map((at) => Plot.ruleX([at], { stroke: 'var(--bad)', strokeDasharray: '4,3' })),
      ],
    }),
  bars: (section) => {
    const rows = section.names.map((name, k) => ({ name, value: section.values[k], std: section.std?.[k] ?? 0 }));
    return frame({
      height: Math.max(120, 18 * rows.length + 60),
      marginLeft: 12 + 7 * Math.max(...section.names.map((name) => name.length)),
      y: { label: null, domain: section.names },
      x: { label: section.x, grid: true },
      marks: [
        Plot.barX(rows, { y: 'name', x: 'value', fill: 'var(--accent)', fillOpacity: 0.75, tip: true }),
        Plot.link(rows, {
          y: 'name',
          x1: (row) => row.value - 2 * row.std,
          x2: (row) => row.value + 2 * row.std,
          stroke: 'currentColor',
        }),
        Plot.ruleX([0]),
      ],
    });
  },
  histogram: (section) =>
    frame({
      x: { label: section.x },
      y: { label: 'count', grid: true },
      marks: [
        Plot.rectY(
          section.values.map((value) => ({ value })),
          Plot.binX({ y: 'count' }, { x: 'value', thresholds: 24, fill: 'var(--accent)', tip: true }),
        ),
        Plot.ruleY([0]),
      ],
    }),
  matrix: (section) => {
    const cells = section.values.flatMap((row, i) =>
      row.map((value, j) => ({ row: section.names[i], column: section.names[j], value })),
    );
    return frame({
      height: 480,
      marginLeft: 64,
      marginBottom: 64,
      x: { label: null, tickRotate: -60, domain: section.names },
      y: { label: null, domain: section.names },
      color: { scheme: 'RdBu', domain: [-1, 1], legend: true, label: section.label },
      marks: [Plot.cell(cells, { x: 'column', y: 'row', fill: 'value', tip: true })],
    });
  },
  map: (section) => {
    const extent = (values) => Math.max(...values) - Math.min(...values) || 1;
    const height = 420;
    const width = Math.min(560, 100 + ((height - 60) * extent(section.x)) / extent(section.y));
    return frame({
      aspectRatio: width < 560 ? undefined : 1,
      height: width < 560 ? height : undefined,
      width: Math.max(width, 260),
      x: { label: section.x_label },
      y: { label: section.y_label },
      color: { scheme: 'viridis', legend: true, label: section.label, domain: section.range },
      marks: [
        Plot.dot(
          section.x.map((x, k) => ({ x, y: section.y[k], value: section.values[k] })),
          { x: 'x', y: 'y', fill: 'value', r: 3, tip: true },
        ),
      ],
    });
  },
  // Square cells of one map in several panels side by side, one row of panels a stage, on one scale of colours.
  slices: (section) => {
    const cells = section.panels.flatMap((panel) =>
      section.stages.flatMap((stage, row) =>
        panel.x.map((x, k) => ({
          x1: x - section.size / 2,
          x2: x + section.size / 2,
          y1: panel.y[k] - section.size / 2,
          y2: panel.y[k] + section.size / 2,
          value: panel.values[row][k],
          panel: panel.name,
          stage,
        })),
      ),
    );
    const values = cells.map((cell) => cell.value);
    const exponents = Array.from({ length: 40 }, (_, k) => k - 20);
    const ticks = exponents
      .flatMap((k) => [1, 2, 5].map((digit) => digit * 10 ** k))
      .filter((tick) => tick >= Math.min(...values) && tick <= Math.max(...values));
    return frame({
      width: 80 + 260 * section.panels.length,
      height: 70 + 250 * section.stages.length,
      marginRight: 70,
      fx: { label: null, domain: section.panels.map((panel) => panel.name) },
      fy: { label: null, domain: section.stages },
      x: { label: section.x_label, ticks: 5 },
      y: { label: section.y_label, ticks: 5 },
      color: { type: 'log', scheme: 'viridis', legend: true, label: section.label, tickFormat: figures, ticks },
      marks: [
        Plot.frame({ stroke: 'var(--line)' }),
        Plot.rect(cells, { x1: 'x1', x2: 'x2', y1: 'y1', y2: 'y2', fill: 'value', fx: 'panel', fy: 'stage', tip: true }),
      ],
    });
  },
};

export function drawPlots(sections) {
  const draw = () => {
    for (const [id, section] of Object.entries(sections)) {
      const drawer = drawers[section.kind];
      if (drawer) document.querySelector(`#${id} .view`).replaceChildren(drawer(section));
    }
  };
  draw();
  onTheme(draw);
}
