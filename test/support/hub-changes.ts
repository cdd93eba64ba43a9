import { expect } from '@jest/globals';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { eventually, waitFor } from './eventually.ts';
import type { FleetMac } from './fleet-mac.ts';
import type { HubFixture } from './hub-fixture.ts';

/** Summarizes an event as clients of a hub see it. */
export type Told = readonly [type: string, id: string, what: string];

interface Shown {
  readonly type: string;
  readonly data: { readonly id?: string; readonly first_id?: string; readonly body?: string };
  readonly changes?: readonly string[];
  readonly offset: string;
}

/** A client of `GET /events?changes=true` that keeps its offset, and can continue at another hub. */
export class ChangesReader {
  after: string | undefined;
  readonly got: Told[] = [];
  readonly offsets: string[] = [];
  partial: string | null = null;

  constructor(after?: string) {
    this.after = after;
  }

  /** Reads a page; without an offset, starts with the next event. Returns status and code. */
  async read(hub: HubFixture): Promise<readonly [number, string | undefined]> {
    const answer = await hub.get(
      `/events?changes=true&limit=5${this.after === undefined ? '' : `&after=${this.after}`}`,
    );
    const body = (await answer.json()) as { readonly code?: string; readonly latest?: string };
    this.partial = answer.headers.get('postern-partial');
    if (answer.status !== 200) return [answer.status, body.code];
    for (const { type, data, changes, offset } of body as unknown as readonly Shown[]) {
      this.got.push([type, data.id ?? data.first_id ?? '', changes?.join() ?? data.body ?? '']);
      this.offsets.push(offset);
    }
    this.after = /after=([^>&]+)/.exec(answer.headers.get('link') ?? '')?.[1];
    return [200, undefined];
  }

  /** Reads until this event is the last one received. */
  gets(hub: HubFixture, wanted: Told): Promise<void> {
    return eventually(async () => {
      expect(await this.read(hub)).toEqual([200, undefined]);
      expect(this.got.at(-1)).toEqual(wanted);
    });
  }

  /** Reads until it has received exactly these events. */
  async reads(hub: HubFixture, wanted: readonly Told[]): Promise<void> {
    await waitFor(async () => {
      const answer = await this.read(hub);
      expect(answer).toEqual([200, undefined]);
      return this.got.length >= wanted.length;
    }).catch(() => undefined);
    expect(this.got).toEqual(wanted);
  }
}

/** Changes the text of a message, as an edit does. */
export function edit(mac: FleetMac, row: number, text: string): void {
  const sql = 'UPDATE message SET text = ?, date_edited = ? WHERE ROWID = ?';
  mac.database?.sqlite.prepare(sql).run(text, appleDate(Date.now()), row);
}

export function markRead(mac: FleetMac, row: number): void {
  const sql = 'UPDATE message SET is_read = 1, date_read = ? WHERE ROWID = ?';
  mac.database?.sqlite.prepare(sql).run(appleDate(Date.now()), row);
}

/** Deletes a message for good. */
export function erase(mac: FleetMac, row: number): void {
  for (const sql of ['DELETE FROM chat_message_join WHERE message_id = ?', 'DELETE FROM message WHERE ROWID = ?']) {
    mac.database?.sqlite.prepare(sql).run(row);
  }
}

/** Waits until a hub has the changes of these Macs. */
export function hasChangesOf(hub: HubFixture, macs: readonly string[]): Promise<unknown> {
  return waitFor(async () => {
    const { macs: known = [] } = await hub.client.status();
    return macs.every((mac) => known.some(({ id, changes, open_holes }) => id === mac && changes && open_holes === 0));
  });
}
