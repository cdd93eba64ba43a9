/**
 * Counts occurrences for each combination of label values. A label never contains an address. Does not use prom-client:
 * it takes 13 MB of memory, so Postern loads it only when `/metrics` is first requested.
 */
export class LabelledCount<Label extends string> {
  readonly labelNames: readonly Label[];
  /** Called with the labels of each occurrence. */
  onInc: ((labels: Readonly<Record<Label, string>>) => void) | undefined;
  readonly #counts = new Map<string, { readonly labels: Readonly<Record<Label, string>>; value: number }>();

  constructor(...labelNames: readonly Label[]) {
    this.labelNames = labelNames;
  }

  inc(labels: Readonly<Record<Label, string>>): void {
    const key = this.labelNames.map((name) => labels[name]).join('\n');
    const count = this.#counts.get(key);
    if (count === undefined) this.#counts.set(key, { labels, value: 1 });
    else count.value += 1;
    this.onInc?.(labels);
  }

  counts(): Iterable<{ readonly labels: Readonly<Record<Label, string>>; readonly value: number }> {
    return this.#counts.values();
  }
}

/** The counts since startup, for `/metrics`. */
export class Counters {
  readonly deliveries = new LabelledCount('outcome');
  readonly requests = new LabelledCount('method', 'route', 'status');
  readonly sends = new LabelledCount('outcome');
  /** For each column of chat.db: how often a blob in it could not be decoded when a message was read with details. */
  readonly undecoded = new LabelledCount('column');
}
