// Charts as inline SVG. Their colours come from CSS variables and adapt to forced colours. The label of a chart is
// a sentence that says what the chart shows.

import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { number } from '../../../core/model/figures.ts';

const STEPS = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000];
const MIN_BAR = 5.5;
const BOTTOM = 20;
const TOP = 6;

export interface Bar {
  readonly values: readonly number[];
  readonly label: string;
}

/** The parts of a bar: the name and the class of each. */
export type Parts = readonly (readonly [name: string, kind: string])[];

interface BarChart {
  readonly bars: readonly Bar[];
  readonly parts: Parts;
  readonly ticks: readonly (readonly [index: number, text: string])[];
  readonly title: string;
  /** The text of the bar that somebody points at; empty if none. The legend shows it. */
  readonly pointed: Signal<string>;
}

/** Names the parts of the bars, or shows the values of the bar that somebody points at. */
export const Legend = ({ parts, pointed }: Pick<BarChart, 'parts' | 'pointed'>): VNode => (
  <div class="legend">
    {pointed.value ||
      parts.map(([name, kind]) => (
        <span key={name}>
          <i class={kind} />
          {name}
        </span>
      ))}
  </div>
);

/** Stacked bars. They are drawn again at another size, because scaling them would also scale the text. */
export function BarPlot({ kind = '', ...chart }: BarChart & { readonly kind?: string }): VNode {
  const plot = useRef<HTMLDivElement>(null);
  const size = useSignal<readonly [width: number, height: number]>([0, 0]);
  useLayoutEffect(() => {
    if (plot.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      const { width = 0, height = 0 } = entry?.contentRect ?? {};
      if (width > 0) size.value = [Math.floor(width), Math.floor(height)];
    });
    observer.observe(plot.current);
    return () => observer.disconnect();
  }, []);
  const [width, height] = size.value;
  return (
    <div class={`plot ${kind}`.trim()} ref={plot} onPointerLeave={() => (chart.pointed.value = '')}>
      {width > 0 && <Bars {...chart} width={width} height={height} />}
    </div>
  );
}

interface Sized {
  readonly width: number;
  readonly height: number;
}

function Bars({ bars: all, parts, ticks, title, pointed, width, height }: BarChart & Sized): VNode {
  // If the bars would become too narrow to see, merges neighbouring bars.
  const bars = joined(all, Math.max(1, Math.ceil((all.length * MIN_BAR) / width)));
  const peak = Math.max(...bars.map(({ values }) => sum(values)), 4);
  const step = STEPS.find((each) => peak / each <= 4) ?? Math.ceil(peak / 4);
  const top = Math.ceil(peak / step) * step;
  const left = 14 + number(top).length * 7;
  const room = height - BOTTOM - TOP;
  const wide = (width - left) / bars.length;
  const y = (value: number): number => TOP + room - (value / top) * room;
  const lines = Array.from({ length: top / step + 1 }, (_, index) => index * step);
  return (
    <svg class="chart" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={title}>
      {lines.map((value) => [
        <line key={value} class="grid" x1={left} x2={width} y1={y(value)} y2={y(value)} />,
        <text key={`${value} text`} x={left - 8} y={y(value) + 4} text-anchor="end">
          {number(value)}
        </text>,
      ])}
      {bars.map(({ values, label }, index) => {
        const x = left + index * wide;
        const words = values.map((value, part) => `${number(value)} ${parts[part]?.[0]}`).join(', ');
        const text = `${label}: ${number(sum(values))} (${words})`;
        return (
          <g key={label} class="col" onPointerOver={() => (pointed.value = text)}>
            <rect class="hit" x={x} y={TOP} width={wide} height={room} />
            <title>{text}</title>
            {values.map((value, part) => {
              const below = sum(values.slice(0, part));
              return (
                value > 0 && (
                  <rect
                    key={parts[part]?.[0]}
                    class={parts[part]?.[1]}
                    x={x + wide * 0.14}
                    width={Math.max(wide * 0.72, 1)}
                    y={y(below + value)}
                    height={y(below) - y(below + value)}
                    rx={1}
                  />
                )
              );
            })}
          </g>
        );
      })}
      {placed(ticks, all.length, left, width).map(([x, text]) => (
        <text key={x} x={x} y={height - 3} text-anchor="middle">
          {text}
        </text>
      ))}
    </svg>
  );
}

/** Returns the place of each label. Leaves out labels that would touch the one before. */
function placed(ticks: BarChart['ticks'], count: number, left: number, width: number): [x: number, text: string][] {
  const shown: [x: number, text: string][] = [];
  let end = 0;
  for (const [index, text] of ticks) {
    const half = text.length * 3.5;
    const x = Math.max(left + half, Math.min(width - half, left + ((index + 0.5) / count) * (width - left)));
    if (x - half < end) continue;
    end = x + half + 8;
    shown.push([x, text]);
  }
  return shown;
}

function joined(bars: readonly Bar[], count: number): readonly Bar[] {
  if (count === 1) return bars;
  return Array.from({ length: Math.ceil(bars.length / count) }, (_, index) => {
    const group = bars.slice(index * count, (index + 1) * count);
    return {
      values: (group[0]?.values ?? []).map((_, part) => sum(group.map(({ values }) => values[part] ?? 0))),
      label: `${group[0]?.label} to ${group.at(-1)?.label}`,
    };
  });
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

interface DrawingProps {
  readonly class: string;
  /** Width and height of what is drawn, which is stretched to the size that the style sheet gives. */
  readonly box: string;
  readonly height?: number;
  readonly title: string;
  readonly children: ComponentChildren;
}

const Drawing = ({ class: kind, box, height, title, children }: DrawingProps): VNode => (
  <svg class={kind} viewBox={`0 0 ${box}`} height={height} preserveAspectRatio="none" role="img" aria-label={title}>
    {children}
  </svg>
);

/** A line with an area below it. */
export function Sparkline({ values, title }: { readonly values: readonly number[]; readonly title: string }): VNode {
  const most = Math.max(...values) || 1;
  const last = Math.max(1, values.length - 1);
  const points = values
    .map((value, index) => `${((index / last) * 120).toFixed(1)},${(26 - (value / most) * 23).toFixed(1)}`)
    .join(' ');
  return (
    <Drawing class="chart spark" box="120 28" title={title}>
      <polygon class="area" points={`0,28 ${points} 120,28`} />
      <polyline class="line" points={points} />
    </Drawing>
  );
}

/** `warn`: after a retry; `bad`: after a failure; `none`: no delivery. */
export type Tick = 'good' | 'warn' | 'bad' | 'none';

/** One tick for each hour of deliveries. */
export function TickStrip({ ticks, title }: { readonly ticks: readonly Tick[]; readonly title: string }): VNode {
  const wide = 168 / ticks.length;
  return (
    <Drawing class="chart strip" box="168 20" title={title}>
      {ticks.map((tick, index) => (
        <rect
          class={`t-${tick}`}
          x={(index * wide + 0.8).toFixed(1)}
          y={tick === 'none' ? 8 : 1}
          width={(wide - 1.6).toFixed(1)}
          height={tick === 'none' ? 4 : 18}
          rx={1.5}
        />
      ))}
    </Drawing>
  );
}

interface MeterProps {
  /** From 0 to 1. */
  readonly share: number;
  readonly title: string;
  readonly isNearlyFull?: boolean;
}

export const Meter = ({ share, title, isNearlyFull = false }: MeterProps): VNode => (
  <Drawing class="meter" box="100 6" title={title}>
    <rect class={isNearlyFull ? 'w' : ''} width={(Math.max(0, Math.min(1, share)) * 100).toFixed(1)} height={6} />
  </Drawing>
);

interface PartBarProps {
  readonly parts: readonly { readonly count: number; readonly kind: string }[];
  readonly title: string;
}

/** A bar that is divided into parts. The width of a part is its share of the total count. */
export function PartBar({ parts, title }: PartBarProps): VNode {
  const shown = parts.filter(({ count }) => count > 0);
  const widths = shown.map(({ count }) => (count / sum(shown.map((part) => part.count))) * 400);
  return (
    <Drawing class="chart parts" box="400 12" height={12} title={title}>
      {shown.map(({ kind }, index) => (
        <rect
          key={kind}
          class={kind}
          x={sum(widths.slice(0, index)).toFixed(1)}
          width={Math.max((widths[index] ?? 0) - 2, 1.5).toFixed(1)}
          height={12}
          rx={2}
        />
      ))}
    </Drawing>
  );
}
