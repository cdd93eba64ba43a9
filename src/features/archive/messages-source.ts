import { dirname, join } from 'node:path';
import { AttachmentFiles, Connection, chatDbNames } from '../../core/chatdb/public.ts';
import type { HostContext } from '../../core/cli/client-context.ts';
import { type Context, EXIT, type FolderOptions, folderOf } from '../../core/cli/context.ts';
import { oneLine } from '../../core/cli/output/text.ts';
import { Refusal } from '../../core/cli/service-connection.ts';
import type { Config } from '../../core/config/config.ts';
import { readConfig } from '../../core/config/config-file.ts';
import { cacheFolder } from '../../core/config/environment.ts';
import { usualValues } from '../../core/config/setting.ts';
import { SETTINGS } from '../../core/config/settings.ts';
import { decodersOf } from '../../core/details-part.ts';
import type { Log } from '../../core/model/ports/host-ports.ts';
import type { NameSource } from '../../core/model/ports/names-ports.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { commandRunner } from '../../core/runtime/command.ts';
import { bookWithoutService } from '../contacts/port.ts';
import { Conversions } from '../media/port.ts';
import { ArchiveSource } from './archive-source.ts';

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };

/** The data that a command reads directly, without the service. */
export interface MessagesSource {
  readonly chatDbPath: string;
  readonly configFolder: string;
  readonly source: ArchiveSource;
  /** Opens the files of attachments, and converts them if requested. */
  readonly files: Conversions;
  readonly naming: NameSource;
  /**
   * Returns the guids of the conversation that an id, an address or a name refers to. Rejects with a Refusal that lists
   * all if several people or groups have the name.
   */
  readonly conversationsOf: (given: string) => Promise<readonly string[]>;
  close(): Promise<void>;
}

/**
 * Opens chat.db and the Address Book at the paths in config.toml, or at their usual places. Throws a Refusal if
 * config.toml is unusable.
 */
export async function openMessages(options: FolderOptions, context: HostContext): Promise<MessagesSource> {
  const { environment } = context;
  const { homeFolder, env } = environment;
  const configFolder = folderOf(options, context);
  const { backend, features } = settingsOf(configFolder, context);
  const { chatDbPath: path, associatedRows, osascriptPath } = backend;
  const decoders = await decodersOf(context.features);
  const connection = new Connection({ path, home: homeFolder, log: SILENT, associatedRows, decoders });
  const book = bookWithoutService(features.contacts, environment, { connection, clock: systemClock, log: SILENT });
  const names = chatDbNames(connection);
  const files = new Conversions({
    files: new AttachmentFiles(connection),
    cacheFolder: join(cacheFolder(environment), 'attachments'),
    toolFolder: dirname(osascriptPath),
    homeFolder,
    run: commandRunner(env),
    clock: systemClock,
    log: { ...SILENT, warn: (message) => context.stderr(message) },
  });
  return {
    chatDbPath: path,
    configFolder,
    source: new ArchiveSource(connection),
    files,
    naming: book,
    async conversationsOf(given) {
      const direct = names.conversations(given);
      if (direct.length > 0) return direct;
      const groups = names.named(given).map((ids) => ({ ids, about: ids.join(', ') }));
      const people = groups.length > 0 ? [] : await book.named(given);
      const found = [
        ...groups,
        ...people.map(({ name, addresses }) => ({
          ids: addresses.flatMap((address) => names.conversations(address)),
          about: `${name}: ${addresses.join(', ')}`,
        })),
      ].filter(({ ids }) => ids.length > 0);
      // One person may have several cards.
      const ids = new Set(found.map((one) => [...new Set(one.ids)].sort().join('\n')));
      if (ids.size > 1) {
        throw new Refusal(
          EXIT.refusedInput,
          `${oneLine(given)} is the name of more than one. Nothing was exported.`,
          ...found.map(({ about }) => `  ${oneLine(about)}`),
          'Name the one that you mean by its id or its address.',
        );
      }
      return found.flatMap((one) => one.ids);
    },
    async close() {
      files.close();
      await book.close();
      connection.close();
    },
  };
}

function settingsOf(folder: string, { environment }: Context): Pick<Config, 'features' | 'backend'> {
  const reading = readConfig(folder, environment);
  if (reading.state === 'usable') return reading.config;
  if (reading.state === 'unusable') {
    throw new Refusal(EXIT.config, `${reading.path} cannot be used.`, ...reading.mistakes.map((line) => `  ${line}`));
  }
  return { backend: usualValues(SETTINGS.backend, environment), features: {} };
}
