// Limited keys: their table, a single one, and the steps that create one.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { KeyRecord } from '../../../../client/key-types.ts';
import { setTitle } from '../../parts/frame.ts';
import { viewOf, whileShown } from '../../parts/view.tsx';
import { type Asked, call } from '../../service/api.ts';
import { readDirectory } from '../../service/directory.ts';
import { currentRoute, type Route, type View } from '../../service/route.ts';
import { readKeys } from '../../service/service.ts';
import { pathOfKey } from './key-actions.tsx';
import { KeyPage } from './key-detail.tsx';
import { KeyList } from './key-list.tsx';
import { stepFor, Wizard } from './key-wizard.tsx';

const EVERY_MS = 30_000;

interface Page {
  readonly page: VNode;
  readonly title?: string;
}

/** The page that the view shows. It stays until the next one has been read. */
const page = signal<VNode | null>(null);

/** Shows the page that the address leads to. */
async function show({ id, query }: Pick<Route, 'id' | 'query'>, options?: Asked): Promise<void> {
  await readDirectory().catch(() => {});
  const next = await pageOf(id, query, options);
  const route = currentRoute();
  if (route.view !== 'keys' || route.id !== id) return;
  page.value = next.page;
  if (next.title !== undefined) setTitle(next.title);
}

async function pageOf(id: string | undefined, query: URLSearchParams, options?: Asked): Promise<Page> {
  if (id === undefined) return { page: <KeyList keys={await readKeys(options)} again={() => show({ id, query })} /> };
  if (id === 'new') return { page: <Wizard step={stepFor(Number(query.get('step')) || 1)} />, title: 'Create a key' };
  const record = await call<KeyRecord>(pathOfKey(id), options);
  return { page: <KeyPage key={id} record={record} />, title: record.name };
}

const Keys = (): VNode | null => page.value;

export function create(): View {
  const view = viewOf('keys', <Keys />, show);
  whileShown(view.root, EVERY_MS, async () => {
    const route = currentRoute();
    if (route.id !== 'new') await show(route, { isByItself: true });
  });
  return view;
}
