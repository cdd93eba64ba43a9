/** Formats days and times of day in the time zone `zone`. */
export class LocalTime {
  readonly zone: string;
  readonly #day: Intl.DateTimeFormat;
  readonly #time: Intl.DateTimeFormat;

  constructor(zone: string) {
    this.zone = zone;
    const parts = { timeZone: zone, hourCycle: 'h23' } as const;
    this.#day = new Intl.DateTimeFormat('en-GB', {
      ...parts,
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
    });
    this.#time = new Intl.DateTimeFormat('en-GB', { ...parts, hour: '2-digit', minute: '2-digit' });
  }

  /** Returns a day such as `Sun 22 Nov 2026`. */
  day(timestamp: string): string {
    return this.#day.format(new Date(timestamp)).replace(',', '');
  }

  /** Returns a time such as `14:05`. */
  time(timestamp: string): string {
    return this.#time.format(new Date(timestamp));
  }
}
