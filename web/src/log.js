// Long records over time: up to 1e5 points with zoom (drag; double click to go back) by uPlot.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { color, onTheme } from './theme.js';

const NAMES = ['--muted', '--accent', '--bad', '--good', '--third', '--fourth'];

export function drawLog(box, section) {
  let plot = null;
  const draw = () => {
    plot?.destroy();
    const axis = { stroke: color('--ink'), grid: { stroke: color('--line'), width: 1 }, ticks: { stroke: color('--line') } };
    const variable = (each, k) => (each.color ? `--${each.color}` : NAMES[k % NAMES.length]);
    const points = { show: false }; // few samples would get white discs, which hide lines and bands
    const series = section.series.map((each, k) => ({ label: each.name, stroke: color(variable(each, k)), width: 1.2, points }));
    const columns = section.series.map((each) => each.y);
    const bands = [];
    section.series.forEach((each, k) => {
      if (!each.low) return;
      columns.push(each.high, each.low);
      bands.push({ series: [columns.length - 1, columns.length], fill: color(variable(each, k), 0.15) });
      const edge = { class: 'band', stroke: 'transparent', points };
      series.push({ ...edge, label: 'upper' }, { ...edge, label: 'lower' });
    });
    plot = new uPlot(
      {
        width: box.clientWidth || 560,
        height: 300,
        scales: { x: { time: false } },
        axes: [{ ...axis, label: section.x, labelSize: 20 }, { ...axis, label: section.y, labelSize: 20, size: 60 }],
        series: [{ label: section.x }, ...series],
        bands,
        legend: { live: false },
      },
      [section.t, ...columns],
      box,
    );
  };
  draw();
  onTheme(draw);
  new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: 300 })).observe(box);
}
