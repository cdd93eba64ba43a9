import type { Handler } from '../router.ts';

/** Writes a metric with one value. Null omits the metric. */
export type Gauge = (name: string, help: string, value: number | null) => void;

/** Values of one metric, each with its labels. */
interface LabelledValues {
  readonly labelNames: readonly string[];
  counts(): Iterable<{ readonly labels: Readonly<Record<string, string>>; readonly value: number }>;
}

/** Takes the metrics of one answer. */
export interface MetricWriter {
  readonly gauge: Gauge;
  gauges(name: string, help: string, values: LabelledValues): void;
  total(name: string, help: string, value: number): void;
  totals(name: string, help: string, values: LabelledValues): void;
}

export interface MetricParts {
  /** Writes what the service counts and sees now. */
  readonly writeMetrics: (to: MetricWriter) => void;
}

/** Returns the handler for Prometheus metrics (decision H). Loads prom-client at the first request. */
export function metricHandlers({ writeMetrics }: MetricParts) {
  return {
    async getMetrics() {
      const { Counter, Gauge: PromGauge, Registry } = (await import('prom-client')).default;
      const registry = new Registry();
      const registers = [registry];
      writeMetrics({
        gauge(name, help, value) {
          if (value !== null) new PromGauge({ name, help, registers }).set(value);
        },
        gauges(name, help, values) {
          const gauge = new PromGauge({ name, help, labelNames: values.labelNames, registers });
          for (const { labels, value } of values.counts()) gauge.set(labels, value);
        },
        total: (name, help, value) => new Counter({ name, help, registers }).inc(value),
        totals(name, help, values) {
          const counter = new Counter({ name, help, labelNames: values.labelNames, registers });
          for (const { labels, value } of values.counts()) counter.inc(labels, value);
        },
      });
      return { status: 200, content: { type: registry.contentType, text: await registry.metrics() } };
    },
  } satisfies Readonly<Record<string, Handler>>;
}
