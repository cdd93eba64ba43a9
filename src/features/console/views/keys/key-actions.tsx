// Actions on a limited key: a new secret, and revoking it.

import type { VNode } from 'preact';
import type { KeyRecord } from '../../../../client/key-types.ts';
import type { ClientLines } from '../../../../core/model/client-lines.ts';
import { confirmed, Menu } from '../../parts/floating.tsx';
import { CodeLine } from '../../parts/parts.tsx';
import { toast } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';
import { goTo } from '../../service/route.ts';
import { forgetKeys } from '../../service/service.ts';

/** A key that was just created or given a new secret, with the secret. */
export interface SecretKey extends KeyRecord {
  readonly key: string;
  readonly clients?: readonly ClientLines[] | undefined;
}

export const pathOfKey = (id: string): string => `keys/${encodeURIComponent(id)}`;

export function KeyMenu(key: Pick<KeyRecord, 'id' | 'name'>): VNode {
  const { id, name } = key;
  return (
    <Menu
      label={`More for ${name}`}
      items={[
        { icon: 'pen', text: 'Change limits', run: () => goTo(`#/keys/${id}`) },
        { icon: 'check', text: 'Check what it may do', run: () => goTo(`#/keys/${id}`) },
        { icon: 'retry', text: 'New secret …', run: () => rotate(key) },
        { icon: 'log', text: 'Show in audit log', run: () => goTo(`#/audit?key=${id}`) },
        '-',
        { icon: 'x', text: 'Revoke …', run: () => revoke(key), isBad: true },
      ]}
    />
  );
}

async function revoke({ id, name }: Pick<KeyRecord, 'id' | 'name'>): Promise<void> {
  const chosen = await confirmed({
    title: `Revoke ${name}?`,
    text: 'It stops working at once. Its webhooks go, and its waiting sends never go out. This cannot be undone.',
    action: 'Revoke key',
  });
  if (chosen === undefined) return;
  await call(pathOfKey(id), { method: 'DELETE' });
  forgetKeys();
  toast(`${name} is revoked`);
  goTo('#/keys');
}

async function rotate({ id, name }: Pick<KeyRecord, 'id' | 'name'>): Promise<void> {
  const chosen = await confirmed({
    title: `Make a new secret for ${name}?`,
    text: 'The secret it uses now stays valid for 24 hours.',
    action: 'Make a new secret',
    isBad: false,
  });
  if (chosen === undefined) return;
  const { key: secret } = await call<SecretKey>(`${pathOfKey(id)}/rotate`, { method: 'POST' });
  forgetKeys();
  await confirmed({
    title: `The new secret of ${name}`,
    text: (
      <>
        <p>You will not be able to see it again.</p>
        <CodeLine text={secret} label="Copy the key" />
      </>
    ),
    action: 'Done',
    isBad: false,
  });
}
