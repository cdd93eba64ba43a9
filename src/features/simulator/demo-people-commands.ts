import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { ClientContext } from '../../core/cli/client-context.ts';
import type { ConnectionOptions } from '../../core/cli/context.ts';
import { EXIT } from '../../core/cli/context.ts';
import { json } from '../../core/cli/output/text.ts';
import { conversationIdOf, recipientOf } from '../../core/cli/recipient.ts';
import { Refusal, reportRefusal, withService } from '../../core/cli/service-connection.ts';
import { readConfig } from '../../core/config/config-file.ts';
import { demoFolder } from '../../core/config/environment.ts';
import { type Command, reactionNamed } from './commands.ts';
import type { DemoOptions } from './demo-command.ts';
import { SimulatedMac } from './mac.ts';

interface PeopleOptions extends DemoOptions, Omit<ConnectionOptions, 'configDir' | 'demo'> {
  readonly in?: string;
  readonly attach?: string;
  readonly from?: string;
  readonly takeBack?: boolean;
}

/**
 * `postern demo say`: makes a simulated person write to the owner. With `me` as the person, the owner writes on another
 * device.
 */
export function say(who: string, text: string, options: PeopleOptions, context: ClientContext): Promise<number> {
  return withService(folderOptions(options, context), context, async ({ client }) => {
    if (text === '' && (options.attach === undefined || who === 'me')) {
      throw new Refusal(EXIT.usage, 'There is nothing to say: the text is empty.');
    }
    const chat = options.in === undefined ? undefined : await conversationIdOf(client, options.in);
    if (who === 'me') {
      if (chat === undefined) {
        throw new Refusal(EXIT.usage, 'Name the conversation that you write in: --in CONVERSATION');
      }
      return sendCommand(options, context, { do: 'write', to: chat, text });
    }
    const { id: from } = await recipientOf(client, who);
    const attachment = options.attach === undefined ? undefined : attachmentOf(options.attach);
    return sendCommand(options, context, {
      do: 'receive',
      from,
      text,
      ...(chat !== undefined && { chat }),
      ...(attachment !== undefined && { attachment }),
    });
  });
}

/**
 * `postern demo react`: makes a simulated person react to a message. Without --from, the owner reacts on another
 * device.
 */
export function react(row: number, reaction: string, options: PeopleOptions, context: ClientContext): Promise<number> {
  return withService(folderOptions(options, context), context, async ({ client }) => {
    const from = options.from === undefined ? undefined : (await recipientOf(client, options.from)).id;
    return sendCommand(options, context, {
      do: 'react',
      to: row,
      ...reactionNamed(reaction, options.takeBack === true),
      ...(from !== undefined && { from }),
    });
  });
}

/** `postern demo edit`: replaces the text of a message. */
export function edit(row: number, text: string, options: PeopleOptions, context: ClientContext): Promise<number> {
  return performCommand({ do: 'edit', row, text }, options, context);
}

/** `postern demo unsend|delete|read`. */
export function change(
  what: 'unsend' | 'delete' | 'read',
  row: number,
  options: PeopleOptions,
  context: ClientContext,
): Promise<number> {
  return performCommand({ do: what, row }, options, context);
}

/** `postern demo fail`: makes the next sends fail. */
export function fail(times: number, options: PeopleOptions, context: ClientContext): Promise<number> {
  return performCommand({ do: 'scenario', name: 'error_22', times }, options, context);
}

/** `postern demo story`: makes the people tell their story again. */
export function story(options: PeopleOptions, context: ClientContext): Promise<number> {
  return performCommand({ do: 'story' }, options, context);
}

function performCommand(command: Command, options: PeopleOptions, context: ClientContext): Promise<number> {
  return reportRefusal(folderOptions(options, context), context, () => sendCommand(options, context, command));
}

/**
 * `postern demo reset`: makes the next demo start from the beginning, with the same key. Refuses while the demo is
 * running.
 */
export function reset(options: PeopleOptions, context: ClientContext): Promise<number> {
  const configured = folderOptions(options, context);
  return reportRefusal(configured, context, async () => {
    const folder = configured.configDir;
    const { homeFolder } = new SimulatedMac({ dir: folder });
    if (readConfig(folder, context.environment).state === 'absent' || !existsSync(homeFolder)) {
      throw new Refusal(EXIT.config, `There is no demo in ${folder}.`, 'Start it once: postern demo');
    }
    if (await isRunning(folder)) {
      throw new Refusal(EXIT.unavailable, 'The demo is running: stop it first, with Ctrl+C where it was started.');
    }
    for (const name of ['home', 'bin', 'osascript-calls.jsonl', 'state.db', 'search.db']) {
      for (const side of ['', '-wal', '-shm']) rmSync(join(folder, name + side), { recursive: true, force: true });
    }
    // Without the home folder, the next demo would not recognise the folder as a demo's.
    mkdirSync(homeFolder, { mode: 0o700 });
    context.stdout(`The next demo in ${folder} starts from the beginning, with the same key.`);
  });
}

async function isRunning(folder: string): Promise<boolean> {
  return new SimulatedMac({ dir: folder }).command({ do: 'probe' }).then(
    () => true,
    () => false,
  );
}

async function sendCommand(options: PeopleOptions, context: ClientContext, command: Command): Promise<void> {
  const { configDir: dir } = folderOptions(options, context);
  try {
    const result = await new SimulatedMac({ dir }).command<{ readonly row?: number } | undefined>(command);
    if (options.json === true) context.stdout(json(result ?? {}, 2));
    else context.stdout(result?.row === undefined ? 'Done.' : `Done: message ${result.row}.`);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const isAway = 'code' in error;
    throw isAway
      ? new Refusal(EXIT.unavailable, `No demo is running in ${dir}.`, 'Start it in another terminal: postern demo')
      : new Refusal(EXIT.refusedInput, `The simulated Messages cannot do that: ${error.message}`);
  }
}

/** Returns the demo's folder. Finds it in the same way as `postern demo`. */
function folderOptions({ dir, configDir }: DemoOptions, { environment }: ClientContext) {
  return { configDir: dir === undefined ? demoFolder(configDir, environment) : resolve(dir), demo: true };
}

function attachmentOf(given: string): { readonly name: string; readonly bytes: number; readonly path: string } {
  const path = resolve(given);
  const file = statSync(path, { throwIfNoEntry: false });
  if (file?.isFile() !== true) throw new Refusal(EXIT.refusedInput, `There is no file ${path}.`);
  return { name: basename(path), bytes: file.size, path };
}
