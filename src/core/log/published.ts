import { isAfter, rowOffset } from '../model/offset.ts';
import type { RowFeed } from '../model/ports/feed-ports.ts';
import type { Clock } from '../model/ports/host-ports.ts';

/**
 * Maximum wait for a row's event. A row is published at most 2 s after it was first seen (decision C2), unless it
 * follows a burst of rows.
 */
const MAX_WAIT_MS = 2500;

/**
 * Waits until a row's event is in the feed, at most 2.5 s (decision S4). Calls `publish` to have pending rows
 * published.
 */
export async function untilPublished(
  rowId: number,
  { feed, clock, publish }: { readonly feed: RowFeed; readonly clock: Clock; readonly publish: () => void },
): Promise<void> {
  const isPending = (): boolean => isAfter(rowOffset(rowId), rowOffset(feed.lastPublished().rowId));
  if (!isPending()) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      cancel();
      reader.close();
      resolve();
    };
    const reader = feed.resume(feed.lastPublished(), () => {
      if (!isPending()) end();
    });
    const cancel = clock.after(MAX_WAIT_MS, end);
    publish();
  });
}
