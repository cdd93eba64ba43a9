import { appMessages } from '../../../../installer/app-messages.ts';
import type { Diagnostics } from '../../../client/diagnostics-types.ts';
import { isPosternError, type PosternClient, type PosternError } from '../../../client/postern-client.ts';
import type { AssociatedRows } from '../../../core/model/associated-rows.ts';
import { type Finding, fault, finding, ok, unsure } from '../../../core/model/finding.ts';
import { LOCAL_NETWORK } from '../../../core/model/local-network.ts';
import { accountState, accountTrouble, type MessagesAccount, SIGN_IN } from '../../../core/model/messages-account.ts';
import type { PermissionReport } from '../../../core/model/ports/permissions-ports.ts';
import type { StatusReport, WebhookSummary } from '../../../core/model/status.ts';

/** The findings about the running service, and its state. */
export interface Asked {
  readonly findings: readonly Finding[];
  readonly isUp: boolean;
  readonly isConnected: boolean;
  /** The status of the service; undefined if it could not be asked. */
  readonly status?: StatusReport | undefined;
}

interface Asking {
  /** The service's address, as shown in findings. */
  readonly address: string;
  readonly program: string;
  readonly start: string;
  readonly prompt: boolean;
  readonly pauseMs: (ms: number) => Promise<void>;
  /** The setting `backend.associated_rows`. */
  readonly associatedRows: AssociatedRows;
  /** Path of the configuration file. */
  readonly configFile: string;
}

/**
 * Asks a Mac's service for its health, status and diagnostics, and with `prompt` for its permissions. Waits a second
 * before it asks for the status, and again before the permissions.
 */
export async function askService(client: PosternClient, asking: Asking): Promise<Asked> {
  const { address, start, pauseMs } = asking;
  const health = await answered(client.health());
  if (isPosternError(health)) {
    const isBusy = health.status === 429;
    const found = isBusy
      ? ok('service', `The service answers at ${address}, but is too busy (429) for further checks.`)
      : troubleOf(health, address, start);
    return { findings: [found], isUp: isBusy, isConnected: false };
  }
  const { connected, message } = health.backend;
  await pauseMs(1000);
  const answer = await answered(client.status());
  const status = isPosternError(answer) ? undefined : answer;
  const advice = status?.macs === undefined ? 'See full_disk_access and chat_database.' : 'Are its servers up?';
  const connection = connected
    ? ok('connection', message ?? 'The service reads the messages database.')
    : fault('connection', message ?? 'The service cannot read the messages database.', advice);
  return {
    findings: [
      ok('service', `The service answers at ${address}.`),
      connection,
      ...(isPosternError(answer) ? [statusTrouble(answer, asking)] : statusFindings(answer)),
      ...(await macFindings(client, status, asking)),
    ],
    isUp: true,
    isConnected: connected,
    status,
  };
}

function statusTrouble(error: PosternError, { address, start }: Asking): Finding {
  if (error.status !== 429) return troubleOf(error, address, start);
  return unsure('status', 'The service is too busy (429) to report its status.');
}

function statusFindings(status: StatusReport): readonly Finding[] {
  return [...eventFindings(status), ...webhookFindings(status.webhooks)];
}

/** Returns the findings about permissions, the account of Messages and the other programs that write to chat.db. */
async function macFindings(
  client: PosternClient,
  status: StatusReport | undefined,
  { program, prompt, pauseMs, associatedRows, configFile }: Asking,
): Promise<readonly Finding[]> {
  let reports = status?.permissions ?? [];
  if (prompt) {
    await pauseMs(1000);
    const checked = await answered(client.checkPermissions());
    if (!isPosternError(checked)) reports = checked.permissions;
  }
  const findings = reports.map((report) => permission(report, program, prompt));
  const isAllowed = reports.some(({ name, state }) => name === 'automation' && state === 'granted');
  const seen = await answered(client.diagnostics({ seconds: 0, ...(prompt && isAllowed && { ask: 'messages' }) }));
  const account = status?.messages_account;
  if (prompt && isAllowed) findings.push(askedAccount(isPosternError(seen) ? undefined : seen.accounts));
  else if (account !== undefined) findings.push(accountFinding(account.state));
  const apps = isPosternError(seen) ? undefined : appMessages(seen, associatedRows, configFile);
  if (apps !== undefined) findings.push(finding('ok', 'app_messages', ...apps));
  return findings;
}

function answered<Body>(answer: Promise<Body>): Promise<Body | PosternError> {
  return answer.catch((error: unknown) => {
    if (isPosternError(error)) return error;
    throw error;
  });
}

function troubleOf({ status, code }: PosternError, address: string, start: string): Finding {
  if (status === 0) return fault('service', `Nothing answers at ${address}.`, start);
  if (code === 'not_postern') {
    return fault('service', `Another program answers at ${address}.`, 'Stop it, then restart Postern.');
  }
  if (status !== 401) return fault('service', `The service answers ${status}.`, 'Look at its log.');
  return fault(
    'service',
    'The service runs with a different key from the one in the configuration.',
    'Restart it, because it reads the key only when it starts.',
  );
}

function eventFindings({ newest_row: row, newest_event: event, version }: StatusReport): readonly Finding[] {
  const running = ok('running_version', `Version ${version} is running.`);
  if (row === null) {
    return [running, finding('unknown', 'events', 'The newest row could not be determined.', 'See connection.')];
  }
  const behind = row - event.row_id;
  if (behind <= 0) return [running, ok('events', `The newest row, ${row}, has been published.`)];
  const sentence = `The newest row is ${row}, but the newest event is of row ${event.row_id}.`;
  return [
    running,
    finding(
      'warning',
      'events',
      sentence,
      'A new row becomes an event within two seconds. Run doctor again; if this stays the same, look at the log.',
    ),
  ];
}

function webhookFindings(webhooks: readonly WebhookSummary[]): readonly Finding[] {
  if (webhooks.length === 0) return [ok('webhooks', 'There are no webhooks.')];
  return webhooks.map((webhook) => {
    const shortId = webhook.id.slice(0, 8);
    const name = `webhook ${webhook.name ?? shortId}`;
    const command = (verb: string, option = ''): string => `\`postern webhooks ${verb} ${shortId}${option}\``;
    if (webhook.state === 'healthy') {
      return ok(
        name,
        `${webhook.origin}: ${webhook.last_outcome === null ? 'nothing to deliver yet' : `last event ${webhook.last_outcome}`}.`,
      );
    }
    if (webhook.paused_by === 'receiver') {
      return fault(
        name,
        `${webhook.origin} answered 410, which means that it wants no more events. The webhook is paused, and its events wait.`,
        `If that was a mistake, ${command('resume')} continues where it stopped. Otherwise: ${command('remove')}`,
      );
    }
    if (webhook.state === 'paused') return ok(name, `${webhook.origin}: paused. Continue with: ${command('resume')}`);
    if (webhook.state === 'held' && !isLocalNetworkRefused(webhook)) {
      return fault(
        name,
        `${webhook.origin} holds an event and retries it until it succeeds: ${webhook.last_error ?? 'No answer.'}`,
        `Look at the receiver. When it works again, ${command('retry')} delivers at once. To skip all waiting events: ${command('replay', ' --latest')}`,
      );
    }
    const { consecutive_failures: failures } = webhook;
    const sentence = `${webhook.origin} has failed ${failures === 1 ? 'once' : `${failures} times`}: ${webhook.last_error ?? 'No answer.'}`;
    return isLocalNetworkRefused(webhook)
      ? fault(name, sentence, 'The receiver is in your own network. Is it switched on?')
      : fault(name, sentence, `Look at the receiver. Its last deliveries: ${command('deliveries')}`);
  });
}

/**
 * Reports whether a missing Local Network permission may have caused the receiver's last failure. A receiver that is
 * switched off fails in the same way.
 */
function isLocalNetworkRefused({ last_error: error }: WebhookSummary): boolean {
  return error?.includes(LOCAL_NETWORK) === true;
}

function permission({ name, state, detail }: PermissionReport, program: string, prompted: boolean): Finding {
  if (state === 'granted') {
    const until = name === 'full_disk_access' ? ' If you revoke it, the service keeps access until it restarts.' : '';
    return ok(name, `${detail} It belongs to ${program}.${until}`);
  }
  if (state === 'unknown') {
    return finding('unknown', name, detail, prompted ? null : 'To have the service ask now: `postern doctor --prompt`');
  }
  const pane =
    name === 'automation' ? 'Automation: switch on Messages under Postern' : 'Full Disk Access: switch on Postern';
  return fault(
    name,
    `${detail} The permission is for ${program}.`,
    `System Settings, Privacy & Security, ${pane}. If it is on already, remove it from the list and add it again.`,
  );
}

const NAME = 'messages_account';

/**
 * Reports whether Messages is signed in, as the service found. This process does not ask Messages, because macOS would
 * prompt for the terminal's permission.
 */
function askedAccount(accounts: Diagnostics['accounts'] | undefined): Finding {
  if (accounts === undefined || 'error' in accounts) {
    return unsure(NAME, 'Messages did not say whether it is signed in.');
  }
  return accountFinding(accountState(accounts));
}

function accountFinding(state: MessagesAccount['state']): Finding {
  const trouble = accountTrouble(state);
  return trouble === undefined ? ok(NAME, 'Messages is signed in to iMessage.') : fault(NAME, trouble, SIGN_IN);
}
