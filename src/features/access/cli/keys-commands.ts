import { type ApprovalMode, PRESETS, type Preset } from '../../../client/key-types.ts';
import {
  isPosternError,
  type KeyOptions,
  type KeyRecord,
  type KeyWithSecret,
  type NewKeyOptions,
  type PosternClient,
} from '../../../client/postern-client.ts';
import type { ConnectionOptions } from '../../../core/cli/context.ts';
import { EXIT } from '../../../core/cli/context.ts';
import { type Invocation, invocationOf } from '../../../core/cli/invocation.ts';
import type { Column } from '../../../core/cli/output/table.ts';
import { oneLine, printable } from '../../../core/cli/output/text.ts';
import { shownTime } from '../../../core/cli/output/time.ts';
import { listEntriesOf } from '../../../core/cli/recipient.ts';
import { localConfiguration, Refusal, type Served, serviceUrl } from '../../../core/cli/service-connection.ts';
import type { ClientLines } from '../../../core/model/client-lines.ts';
import { quoted } from '../../../core/model/command-words.ts';
import type { Scope } from '../../../core/model/key.ts';
import { systemClock } from '../../../core/runtime/clock.ts';
import { clientLines } from '../client-lines.ts';

export interface ListOptions extends ConnectionOptions {
  readonly read?: readonly string[];
  readonly send?: readonly string[];
}

export interface AddOptions extends ListChangeOptions {
  readonly preset?: Preset;
  readonly scope?: readonly Scope[];
  readonly approval?: ApprovalMode;
  readonly expires?: string;
  readonly dryRun?: boolean;
  readonly maxWait?: number;
}

/** The options of the commands that add entries to a key's lists or remove entries. */
export interface ListChangeOptions extends ListOptions {
  readonly callbackHost?: readonly string[];
}

const KEYS: readonly Column[] = [
  { title: 'ID' },
  { title: 'NAME', isFlexible: true, least: 8 },
  { title: 'SCOPES', isFlexible: true, least: 8 },
  { title: 'READ', isFlexible: true, least: 8 },
  { title: 'SEND', isFlexible: true, least: 8 },
  { title: 'APPROVAL' },
  { title: 'USED' },
];
const EVERYBODY = '*';
const NEVER = 'never';

export async function addKey(name: string, options: AddOptions, service: Served): Promise<void> {
  const { client, answer } = service;
  const { preset, scope, approval, expires, dryRun, callbackHost: hosts, maxWait } = options;
  if ((preset === undefined) === (scope === undefined)) {
    const presets = Object.keys(PRESETS).join('|');
    throw new Refusal(EXIT.usage, `Give either --preset ${presets}, or --scope, which may be repeated.`);
  }
  const settings: KeyOptions = {
    ...(options.read !== undefined && { read: await entries(client, options.read) }),
    ...(options.send !== undefined && { send: await entries(client, options.send) }),
    ...(approval !== undefined && { approval }),
    ...(expires !== undefined && { expires_at: expires === NEVER ? null : expires }),
    ...(dryRun === true && { dry_run: true }),
    ...(hosts !== undefined && { callback_hosts: hosts }),
    ...(maxWait !== undefined && { max_wait_s: maxWait }),
  };
  const what = preset === undefined ? { scopes: scope ?? [] } : { preset };
  // Only the service knows its port: an option may have set it, or the system may have chosen it. Whatever can fail
  // comes before the key is made, because its secret is shown only once.
  const url = (await client.status()).url ?? serviceUrl(options, service);
  const config = localConfiguration(options, service);
  const key = await client.keys.add({ name, ...settings, ...what } satisfies NewKeyOptions);
  const invocation = (command: string): Invocation => invocationOf(command, options, service);
  const setup = { secret: key.key, scopes: key.scopes, url, invocation };
  answer(key, ...made(key, clientLines(setup, { features: service.features, config })));
}

export async function listKeys(_options: object, { client, list, copyable }: Served): Promise<void> {
  const keys = await client.keys.list();
  const rows = keys.map((key) => [
    key.id,
    key.name,
    key.scopes.join(' '),
    people(key.read),
    people(key.send),
    key.scopes.includes('send') ? key.approval : '',
    key.last_used_at === null ? NEVER : shownTime(key.last_used_at, systemClock.now()),
  ]);
  list(keys, KEYS, rows, copyable('There are no limited keys. `postern keys add NAME` makes one.'));
}

export async function showKey(given: string, _options: object, { client, answer }: Served): Promise<void> {
  const key = await keyOf(client, given);
  answer(key, ...description(key));
}

/** Adds entries to a key's lists, or removes entries. */
export async function changeLists(
  change: 'allow' | 'forbid',
  given: string,
  options: ListChangeOptions,
  { client, answer }: Served,
): Promise<void> {
  const { callbackHost: hosts } = options;
  if (options.read === undefined && options.send === undefined && hosts === undefined) {
    throw new Refusal(
      EXIT.usage,
      `Say whom to ${change} with --read, --send or --callback-host. Each may be repeated.`,
    );
  }
  const key = await keyOf(client, given);
  const [toRead, toSend] = await Promise.all([
    entries(client, options.read ?? []),
    entries(client, options.send ?? []),
  ]);
  const changed = async (list: KeyRecord['read'], more: KeyRecord['read']) => {
    if (change === 'allow') {
      return list === EVERYBODY || more === EVERYBODY ? EVERYBODY : [...new Set([...list, ...more])];
    }
    if (more === EVERYBODY) return [];
    if (list === EVERYBODY && more.length > 0) {
      throw new Refusal(
        EXIT.refusedInput,
        'The list contains everybody (*), so single people cannot be removed from it.',
        'Forbid * first, which empties the list. Then allow the people who may stay.',
      );
    }
    if (list === EVERYBODY) return list;
    const forbidden = await allIdsOf(client, more);
    return list.filter((entry) => !forbidden.includes(entry));
  };
  const send = await changed(key.send, toSend);
  const named = key.closed.length === 0 || toSend === EVERYBODY ? [] : await allIdsOf(client, toSend);
  const opens = key.closed.filter(({ conversation_id: id }) => change === 'allow' && named.includes(id));
  const now = await client.keys.change(key.id, {
    read: await changed(key.read, toRead),
    send,
    ...(opens.length > 0 && { opens }),
    ...(hosts !== undefined && {
      callback_hosts:
        change === 'allow'
          ? [...new Set([...key.callback_hosts, ...hosts])]
          : key.callback_hosts.filter((host) => !hosts.includes(host)),
    }),
  });
  answer(now, ...description(now));
}

/** Reports what would happen to a send with this key. Exits with 1 if the send would be refused. */
export async function checkKey(
  given: string,
  { send: recipient }: { readonly send: string },
  { client, answer }: Served,
): Promise<number> {
  const key = await keyOf(client, given);
  const check = await client.keys.check(key.id, recipient);
  const { to, members, send, read, reason } = check;
  const whom = members.length > 1 ? `${to} (${members.join(', ')})` : to;
  const why = reason === null ? '' : ` (${reason})`;
  answer(check, printable(`A send to ${whom} is ${send}${why}. Reading is ${read ? 'allowed' : 'not allowed'}.`));
  return send === 'refused' ? EXIT.failed : EXIT.ok;
}

export async function rotateKey(given: string, _options: object, { client, answer }: Served): Promise<void> {
  const key = await client.keys.rotate((await keyOf(client, given)).id);
  answer(key, key.key, 'This is the new key, shown only now. The old one works for another 24 hours.');
}

export async function revokeKey(given: string, _options: object, { client, answer }: Served): Promise<void> {
  const { id, name } = await keyOf(client, given);
  const revocation = await client.keys.revoke(id);
  const { scheduled_cancelled: scheduled = 0, approvals_voided: held = 0 } = revocation ?? {};
  answer(
    revocation ?? { id },
    printable(`Key ${name} (${id}) is revoked.`),
    ...(scheduled === 0 ? [] : [`Scheduled messages cancelled: ${scheduled}.`]),
    ...(held === 0 ? [] : [`Messages that were waiting for your approval and will not be sent: ${held}.`]),
  );
}

/** Returns the key with this id or name. */
async function keyOf(client: PosternClient, given: string): Promise<KeyRecord> {
  const keys = await client.keys.list();
  const byId = keys.filter(({ id }) => id === given);
  const found = byId.length > 0 ? byId : keys.filter(({ name }) => name === given);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  throw new Refusal(
    EXIT.refusedInput,
    only === undefined ? `There is no key ${given}.` : `${found.length} keys are named ${given}: use the id.`,
    '`postern keys list` shows them.',
  );
}

/**
 * Returns the list entries for what the user has named. Keeps addresses and ids unchanged. Replaces a person's name
 * with all addresses of that person, and a group's name with the group's id.
 */
async function entries(client: PosternClient, named: readonly string[]): Promise<'*' | readonly string[]> {
  if (named.includes(EVERYBODY)) return EVERYBODY;
  const found: string[] = [];
  for (const name of named) found.push(...(await listEntriesOf(client, name)));
  return found;
}

/** Adds to conversation ids every other id of the same group, because a list may have any of them (decision AB7). */
async function allIdsOf(client: PosternClient, entries: readonly string[]): Promise<readonly string[]> {
  const found = [...entries];
  for (const entry of entries.filter((one) => one.includes(';'))) {
    try {
      const { id, details } = await client.conversation(entry, { include: 'details' });
      found.push(id, ...(details?.other_ids ?? []));
    } catch (error) {
      if (!isPosternError(error) || error.status !== 404) throw error;
    }
  }
  return found;
}

function people(list: KeyRecord['read']): string {
  if (list === EVERYBODY) return 'everybody';
  return list.length === 0 ? 'nobody' : list.join(', ');
}

function description(key: KeyRecord): readonly string[] {
  const { caps, closed } = key;
  return [
    `${oneLine(key.name)} (${key.id})`,
    `  scopes    ${key.scopes.join(', ')}`,
    `  may read  ${people(key.read)}`,
    `  may send  ${people(key.send)}`,
    `  approval  ${key.approval}${key.dry_run ? ', and every send is a dry run' : ''}`,
    ...(caps === null
      ? []
      : [
          `  caps      ${caps.per_minute} a minute, ${caps.per_day} a day, ${caps.new_contacts_per_day} new people a day`,
        ]),
    ...(key.callback_hosts.length === 0 ? [] : [`  webhooks  also to ${key.callback_hosts.join(', ')}`]),
    `  expires   ${key.expires_at ?? NEVER}`,
    ...closed.map(
      ({ conversation_id: id, joined }) =>
        `  closed    ${id}: ${joined.join(', ')} joined. postern keys allow ${key.id} --send ${quoted(id)} opens it again.`,
    ),
  ].map(printable);
}

/** Returns the lines that show a new key, and what to paste into which client. */
function made(key: KeyWithSecret, clients: readonly ClientLines[]): readonly string[] {
  return [
    key.key,
    'This is the key. It is shown only now.',
    '',
    ...description(key),
    // These lines are not indented, because a copied script must begin with `#!`, without blanks before it.
    ...clients.flatMap(({ client, where, lines }) => ['', `${client} (${where}):`, ...lines]),
  ];
}
