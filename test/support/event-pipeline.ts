import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import { Publisher } from '../../src/core/log/publisher.ts';
import { FakeClock } from './fake-clock.ts';
import { collectingLog } from './log.ts';
import { MemoryCursor, MemoryLog } from './memory-log.ts';

/** Creates the message log, the publisher, the channel and the feed, connected as in the service, with a fake clock. */
export function eventPipeline() {
  const messages = new MemoryLog();
  const cursor = new MemoryCursor();
  const clock = new FakeClock();
  const channel = new Channel();
  const log = collectingLog();
  const publisher = new Publisher({ messages, channel, cursor, clock, log });
  const feed = new Feed({ channel, messages, replacedAt: () => cursor.replacedAt(), clock, log });
  return { messages, cursor, clock, channel, log, publisher, feed };
}

/** Lets the publisher look for new rows, and waits for everything that follows. */
export async function look({ publisher, clock }: ReturnType<typeof eventPipeline>): Promise<void> {
  publisher.publishPending();
  await clock.advance(0);
}

export const nothing = (): void => {};

export const ids = (entries: readonly { readonly rowId: number }[]): number[] => entries.map((entry) => entry.rowId);
