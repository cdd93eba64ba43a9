/** What is counted since the start, for `/metrics`; a label never holds an address. */
export type Counted = 'deliveries' | 'requests' | 'sends';

/** Plain counts: one map look-up each, so that counting costs nothing while nobody asks. */
export class Counters {
  readonly #counts: Readonly<Record<Counted, Map<string, number>>> = {
    deliveries: new Map(),
    requests: new Map(),
    sends: new Map(),
  };

  /** `label` is what tells the counts of one kind apart; several labels are separated by spaces. */
  add(what: Counted, label: string): void {
    const counts = this.#counts[what];
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }

  read(what: Counted): ReadonlyMap<string, number> {
    return this.#counts[what];
  }
}
