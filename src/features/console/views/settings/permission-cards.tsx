// The permissions that macOS gives to Postern, and how to give them.

import type { VNode } from 'preact';
import type { PermissionReport } from '../../../../core/model/ports/permissions-ports.ts';
import { Button, type Mark, State } from '../../parts/parts.tsx';
import { toast } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';
import { mayOwn } from '../../service/service.ts';

const NAMES: Readonly<Record<PermissionReport['name'], string>> = {
  full_disk_access: 'Full Disk Access',
  automation: 'Automation of Messages',
};

const STATES: Readonly<Record<PermissionReport['state'], readonly [mark: Mark, word: string]>> = {
  granted: ['good', 'Granted'],
  denied: ['bad', 'Not granted'],
  unknown: ['warn', 'Not known'],
};

interface Props {
  readonly permissions: readonly PermissionReport[];
  /** Reads the view again. */
  readonly again: () => Promise<void>;
}

export function PermissionCards({ permissions, again }: Props): VNode {
  const check = async (): Promise<void> => {
    await call('permissions/check', { method: 'POST' });
    toast('Checked');
    await again();
  };
  return (
    <>
      {permissions.map((permission) => (
        <Permission key={permission.name} {...permission} />
      ))}
      {mayOwn('checkPermissions') && (
        <p>
          <Button run={check}>Check now</Button>
        </p>
      )}
    </>
  );
}

function Permission({ name, state, detail }: PermissionReport): VNode {
  const [mark, word] = STATES[state];
  return (
    <section class="card">
      <header>
        <h3>{NAMES[name]}</h3>
        <State kind={mark} text={word} />
      </header>
      <div class="body">
        <p class="quiet">{detail}</p>
      </div>
      {name === 'full_disk_access' && state === 'denied' && <HowTo />}
    </section>
  );
}

const HowTo = (): VNode => (
  <ol class="howto">
    <li>
      <span>
        Open <b>System Settings ▸ Privacy & Security ▸ Full Disk Access</b> on the Mac.
      </span>
    </li>
    <li>
      <span>
        Switch <b>Postern</b> on. If it is not listed, press + and choose it in <span class="mono">~/Applications</span>
        .
      </span>
    </li>
    <li>
      <span>Wait: Postern restarts by itself.</span>
    </li>
  </ol>
);
