import { afterEach } from '@jest/globals';

/** Wraps `open` so that what a test opens is closed after the test. */
export function closedAfterEach<Given extends readonly unknown[], Opened extends { close(): unknown }>(
  open: (...given: Given) => Promise<Opened>,
): (...given: Given) => Promise<Opened> {
  const all: Opened[] = [];
  afterEach(async () => {
    for (const opened of all.splice(0)) await opened.close();
  });
  return async (...given) => {
    const opened = await open(...given);
    all.push(opened);
    return opened;
  };
}
