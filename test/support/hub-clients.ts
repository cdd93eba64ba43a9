import { expect } from '@jest/globals';
import WebSocket from 'ws';
import { eventually } from './eventually.ts';
import type { HubFixture } from './hub-fixture.ts';
import { KEY } from './service.ts';
import { whenFileEnds } from './temporary.ts';

export interface ShownEvent {
  readonly type: string;
  readonly data: { readonly id: string; readonly mac: string };
  readonly offset: string;
}

export async function eventsOf(hub: HubFixture, after = '0', limit = 1000): Promise<ShownEvent[]> {
  const response = await hub.get(`/events?limit=${limit}&after=${after}`);
  expect(response.status).toBe(200);
  return (await response.json()) as ShownEvent[];
}

export const idsOf = (events: readonly ShownEvent[]): string[] => events.map(({ data }) => data.id);

/** Returns the ids of all events after an offset, page by page. */
export async function allIdsAfter(hub: HubFixture, after = '0'): Promise<string[]> {
  const ids: string[] = [];
  for (let next = after; ; ) {
    const page = await eventsOf(hub, next);
    ids.push(...idsOf(page));
    const last = page.at(-1);
    if (last === undefined) return ids;
    next = last.offset;
  }
}

/** Waits until a hub has exactly these events. */
export function hasEvents(hub: HubFixture, ids: readonly string[]): Promise<void> {
  return eventually(async () => expect(await allIdsAfter(hub)).toEqual(ids));
}

/** Returns the ids `mac~from` to `mac~to`. */
export function rowsOf(mac: string, from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `${mac}~${from + index}`);
}

export interface Listener {
  readonly ids: string[];
  /** The code with which the WebSocket was closed; undefined while it is open. */
  closed: number | undefined;
}

/** Collects what a WebSocket receives. */
export async function listenTo(hub: HubFixture, query = ''): Promise<Listener> {
  const listener: Listener = { ids: [], closed: undefined };
  const socket = new WebSocket(`${hub.api.replace('http', 'ws')}/ws?api_key=${KEY}${query}`);
  socket.on('message', (data) => listener.ids.push((JSON.parse((data as Buffer).toString()) as ShownEvent).data.id));
  socket.on('close', (code) => {
    listener.closed = code;
  });
  whenFileEnds(() => socket.terminate());
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return listener;
}
