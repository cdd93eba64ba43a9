// Charts as inline SVG. Their colours come from CSS variables and adapt to forced colours. The label of a chart is
// a sentence that says what the chart shows.

import { number } from '../../service/words.ts';
import { h, svg } from './dom.js';

const STEPS = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000];
const MIN_BAR = 5.5;
const BOTTOM = 20;
const TOP = 6;

/**
 * @typedef {{ readonly values: readonly number[], readonly label: string }} Bar
 * @typedef {{ readonly bars: readonly Bar[], readonly names: readonly string[], readonly classes: readonly string[],
 *   readonly ticks: readonly (readonly [index: number, text: string])[], readonly title: string }} BarChart
 */

/**
 * Draws stacked bars with a legend. A change of size redraws the bars, because scaling them would also scale the text.
 * Pointing at a bar writes its values into the legend.
 * @param {BarChart} chart
 */
export function barChart(chart) {
  const plot = h('div', 'plot');
  const legend = h(
    'div',
    'legend',
    chart.names.map((name, index) => h('span', null, h('i', chart.classes[index]), name)),
  );
  const entries = [...legend.childNodes];
  new ResizeObserver(([entry]) => {
    const { width, height } = entry?.contentRect ?? { width: 0, height: 0 };
    if (width > 0) plot.replaceChildren(drawBars(chart, Math.floor(width), Math.floor(height)));
  }).observe(plot);
  plot.addEventListener('pointerover', ({ target }) => {
    const title = /** @type {Element} */ (target).closest('.col')?.querySelector('title')?.textContent;
    if (title) legend.replaceChildren(title);
  });
  plot.addEventListener('pointerleave', () => legend.replaceChildren(...entries));
  return { plot, legend };
}

/**
 * @param {BarChart} chart
 * @param {number} width
 * @param {number} height
 */
function drawBars({ bars: all, names, classes, ticks, title }, width, height) {
  // If the bars would become too narrow to see, merges neighbouring bars.
  const join = Math.max(1, Math.ceil((all.length * MIN_BAR) / width));
  const bars = join === 1 ? all : joined(all, join);
  const totals = bars.map(({ values }) => sum(values));
  const peak = Math.max(...totals, 4);
  const step = STEPS.find((each) => peak / each <= 4) ?? Math.ceil(peak / 4);
  const top = Math.ceil(peak / step) * step;
  const left = 14 + number(top).length * 7;
  const room = height - BOTTOM - TOP;
  const wide = (width - left) / bars.length;
  const y = (/** @type {number} */ value) => TOP + room - (value / top) * room;
  const chart = svg('svg', {
    class: 'chart',
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': title,
  });
  for (let value = 0; value <= top; value += step) {
    chart.append(
      svg('line', { class: 'grid', x1: left, x2: width, y1: y(value), y2: y(value) }),
      svg('text', { x: left - 8, y: y(value) + 4, 'text-anchor': 'end' }, number(value)),
    );
  }
  for (const [index, { values, label }] of bars.entries()) {
    const x = left + index * wide;
    const parts = values.map((value, kind) => `${number(value)} ${names[kind]}`).join(', ');
    const column = svg(
      'g',
      { class: 'col' },
      svg('rect', { class: 'hit', x, y: TOP, width: wide, height: room }),
      svg('title', {}, `${label}: ${number(totals[index] ?? 0)} (${parts})`),
    );
    let at = 0;
    for (const [kind, value] of values.entries()) {
      if (value === 0) continue;
      const box = {
        x: x + wide * 0.14,
        width: Math.max(wide * 0.72, 1),
        y: y(at + value),
        height: y(at) - y(at + value),
      };
      column.append(svg('rect', { class: classes[kind], ...box, rx: 1 }));
      at += value;
    }
    chart.append(column);
  }
  // Right edge of the last drawn label plus a margin, in pixels. Labels that would begin before it are skipped.
  let end = 0;
  for (const [index, text] of ticks) {
    const half = text.length * 3.5;
    const x = Math.max(left + half, Math.min(width - half, left + ((index + 0.5) / all.length) * (width - left)));
    if (x - half < end) continue;
    end = x + half + 8;
    chart.append(svg('text', { x, y: height - 3, 'text-anchor': 'middle' }, text));
  }
  return chart;
}

/**
 * @param {readonly Bar[]} bars
 * @param {number} count
 */
function joined(bars, count) {
  /** @type {Bar[]} */
  const made = [];
  for (let at = 0; at < bars.length; at += count) {
    const group = bars.slice(at, at + count);
    const kinds = group[0]?.values.length ?? 0;
    made.push({
      values: Array.from({ length: kinds }, (_, kind) => sum(group.map(({ values }) => values[kind] ?? 0))),
      label: `${group[0]?.label} to ${group.at(-1)?.label}`,
    });
  }
  return made;
}

/** @param {readonly number[]} values */
const sum = (values) => values.reduce((total, value) => total + value, 0);

/**
 * @param {readonly number[]} values
 * @param {string} title
 * @param {string} [kind]
 */
export function sparkline(values, title, kind = '') {
  const most = Math.max(...values) || 1;
  const last = Math.max(1, values.length - 1);
  const points = values.map(
    (value, index) => `${((index / last) * 120).toFixed(1)},${(26 - (value / most) * 23).toFixed(1)}`,
  );
  return svg(
    'svg',
    {
      class: `chart spark ${kind}`,
      viewBox: '0 0 120 28',
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': title,
    },
    svg('polygon', { class: 'area', points: `0,28 ${points.join(' ')} 120,28` }),
    svg('polyline', { class: 'line', points: points.join(' ') }),
  );
}

/**
 * Draws one tick per hour of deliveries: `good`, `warn` after a retry, `bad` after a failure, `none` for no delivery.
 * @param {readonly ('good' | 'warn' | 'bad' | 'none')[]} ticks
 * @param {string} title
 */
export function tickStrip(ticks, title) {
  const wide = 168 / ticks.length;
  return svg(
    'svg',
    { class: 'chart strip', viewBox: '0 0 168 20', preserveAspectRatio: 'none', role: 'img', 'aria-label': title },
    ticks.map((tick, index) =>
      svg('rect', {
        class: `t-${tick}`,
        x: (index * wide + 0.8).toFixed(1),
        y: tick === 'none' ? 8 : 1,
        width: (wide - 1.6).toFixed(1),
        height: tick === 'none' ? 4 : 18,
        rx: 1.5,
      }),
    ),
  );
}

/**
 * Draws a bar that is filled up to `share`, from 0 to 1.
 * @param {number} share
 * @param {string} title
 * @param {string} [kind] `w` if it is nearly used up
 */
export const meter = (share, title, kind = '') =>
  svg(
    'svg',
    { class: 'meter', viewBox: '0 0 100 6', preserveAspectRatio: 'none', role: 'img', 'aria-label': title },
    svg('rect', { class: kind, width: (Math.max(0, Math.min(1, share)) * 100).toFixed(1), height: 6 }),
  );

/**
 * Draws a bar that is divided into parts. The width of a part is its share of the total count.
 * @param {readonly { readonly count: number, readonly kind: string }[]} parts
 * @param {string} title
 */
export function partBar(parts, title) {
  const total = sum(parts.map(({ count }) => count)) || 1;
  let x = 0;
  const chart = svg('svg', {
    class: 'chart parts',
    viewBox: '0 0 400 12',
    preserveAspectRatio: 'none',
    height: 12,
    role: 'img',
    'aria-label': title,
  });
  for (const { count, kind } of parts) {
    if (count === 0) continue;
    const width = (count / total) * 400;
    chart.append(
      svg('rect', { class: kind, x: x.toFixed(1), width: Math.max(width - 2, 1.5).toFixed(1), height: 12, rx: 2 }),
    );
    x += width;
  }
  return chart;
}
