import type { Command } from 'commander';
import type { PosternClient } from '../../client/postern-client.ts';
import type { ClientContext } from '../../core/cli/client-context.ts';
import type { ConnectionOptions } from '../../core/cli/context.ts';
import { oneLine } from '../../core/cli/output/text.ts';
import { withService } from '../../core/cli/service-connection.ts';
import { conversationName, shortId } from '../../core/cli/shown-names.ts';
import type { Conversation } from '../../core/model/conversation.ts';
import { folded } from '../../core/model/folded.ts';
import { withoutPassword } from '../../core/model/webhook.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { completionOf, type GivenOptions, type ValueKind, type Word } from './complete.ts';

/** Time limit in milliseconds. Short, because the user has just pressed Tab and is waiting. */
const LIMIT_MS = 1000;
const MAX_CONVERSATIONS = 200;
/** Lines that make the shells' scripts complete files or folders. No candidate may be one of these. */
const COMMANDS: ReadonlySet<string> = new Set([':files', ':folders']);

/**
 * `postern complete -- WORDS`, for the shells' completion scripts. Prints the candidates for the last word, one per
 * line, each followed by a tab and its description. Prints `:files` or `:folders` if the shell should complete files or
 * folders itself, and nothing on any failure.
 */
export async function complete(
  program: Command,
  words: readonly string[],
  _options: object,
  context: ClientContext,
): Promise<void> {
  const completion = completionOf(program, words);
  if (completion.kind === 'files' || completion.kind === 'folders') context.stdout(`:${completion.kind}`);
  else {
    const found =
      completion.kind === 'words' ? completion.words : await known(completion.of, completion.given, context);
    const lines = found.map(({ value, about }) => `${oneLine(value)}\t${oneLine(about)}`);
    if (lines.length > 0) context.stdout(...lines);
  }
}

async function known(kind: ValueKind, given: GivenOptions, context: ClientContext): Promise<readonly Word[]> {
  const { demo, dir, configDir, url, keyFile } = given;
  const folder = dir ?? configDir;
  const options: ConnectionOptions = {
    ...(demo !== undefined && { demo: true }),
    ...(folder !== undefined && { configDir: folder }),
    ...(url !== undefined && { url }),
    ...(keyFile !== undefined && { keyFile }),
  };
  const silent = { ...context, stdout: () => {}, stderr: () => {} };
  let found: readonly Word[] = [];
  const work = withService(options, silent, async ({ client }) => {
    found = await VALUES[kind](client);
  });
  let cancel = (): void => {};
  const limit = new Promise<void>((resolve) => {
    cancel = systemClock.after(LIMIT_MS, resolve);
  });
  await Promise.race([work.catch(() => undefined), limit]);
  cancel();
  return found;
}

const VALUES: Readonly<Record<ValueKind, (client: PosternClient) => Promise<readonly Word[]>>> = {
  conversation: conversations,
  recipient: conversations,
  person: conversations,
  whom: conversations,
  webhook: async (client) =>
    (await client.webhooks()).map(({ id, url }) => ({ value: shortId(id), about: withoutPassword({ url }) })),
  approval: async (client) =>
    (await client.approvals.list({ state: 'held' })).map(({ id, to }) => ({ value: shortId(id), about: to })),
  key: async (client) =>
    (await client.keys.list()).flatMap(({ id, name }) =>
      firstOffered([name, id], (value) => (value === id ? name : id)),
    ),
};

/** Offers each conversation by its name if the name is unique, otherwise by its address or id. */
async function conversations(client: PosternClient): Promise<readonly Word[]> {
  const found = await client.conversations({ limit: MAX_CONVERSATIONS, include: 'contacts' });
  const named = found.map((conversation) => ({
    id: conversation.id,
    name: conversationName(conversation),
    address: addressOf(conversation),
  }));
  const counts = new Map<string, number>();
  for (const { name } of named) counts.set(folded(name), (counts.get(folded(name)) ?? 0) + 1);
  return named.flatMap(({ id, name, address }) =>
    firstOffered(counts.get(folded(name)) === 1 ? [name, address, id] : [address, id], (value) =>
      value === name ? address : name,
    ),
  );
}

/**
 * Returns the first value that a shell may insert. Skips values that begin with `-`, because a command would mistake
 * them for options. Such values can exist because other people choose names.
 */
function firstOffered(values: readonly string[], aboutOf: (value: string) => string): readonly Word[] {
  const value = values.find((one) => {
    const inserted = oneLine(one);
    return inserted !== '' && !inserted.startsWith('-') && !COMMANDS.has(inserted);
  });
  return value === undefined ? [] : [{ value, about: aboutOf(value) }];
}

function addressOf({ id }: Conversation): string {
  const at = id.indexOf(';-;');
  return at < 0 ? id : id.slice(at + 3);
}
