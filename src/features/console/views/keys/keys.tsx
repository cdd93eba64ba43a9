// Limited keys: their table, a single one, and the steps that create one.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { KeyRecord } from '../../../../client/key-types.ts';
import { setTitle } from '../../parts/frame.ts';
import { viewOf } from '../../parts/view.tsx';
import { call } from '../../service/api.ts';
import { readDirectory } from '../../service/directory.ts';
import { currentRoute, type Route, type View } from '../../service/route.ts';
import { readKeys } from '../../service/service.ts';
import { pathOfKey } from './key-actions.tsx';
import { KeyPage } from './key-detail.tsx';
import { KeyList } from './key-list.tsx';
import { stepFor, Wizard } from './key-wizard.tsx';

interface Page {
  readonly page: VNode;
  readonly title?: string;
}

/** The page that the view shows. It stays until the next one has been read. */
const page = signal<VNode | null>(null);

/** Shows the page that the address leads to. */
async function show({ id, query }: Pick<Route, 'id' | 'query'>): Promise<void> {
  await readDirectory().catch(() => {});
  const next = await pageOf(id, query);
  const route = currentRoute();
  if (route.view !== 'keys' || route.id !== id) return;
  page.value = next.page;
  if (next.title !== undefined) setTitle(next.title);
}

async function pageOf(id: string | undefined, query: URLSearchParams): Promise<Page> {
  if (id === undefined) return { page: <KeyList keys={await readKeys()} again={() => show({ id, query })} /> };
  if (id === 'new') return { page: <Wizard step={stepFor(Number(query.get('step')) || 1)} />, title: 'Create a key' };
  const record = await call<KeyRecord>(pathOfKey(id));
  return { page: <KeyPage key={id} record={record} />, title: record.name };
}

const Keys = (): VNode | null => page.value;

export const create = (): View => viewOf('keys', <Keys />, show);
