import { readdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { HostContext } from '../../core/cli/client-context.ts';
import { firstLaunch, serveConfigured } from '../../core/cli/commands/serve-command.ts';
import type { CommonOptions } from '../../core/cli/context.ts';
import { withLog } from '../../core/cli/run-service.ts';
import { readConfig } from '../../core/config/config-file.ts';
import { configFolder } from '../../core/config/environment.ts';
import { errorCode } from '../../core/model/errors.ts';
import { demo } from './demo-command.ts';

const NO_ACCESS = [
  'macOS does not let this terminal read Messages, so there will be nothing to list and no events.',
  '  Open System Settings > Privacy & Security > Full Disk Access, switch on this terminal, quit it and open it again.',
  '  Just to look around, `make demo` (postern demo) needs no permission.',
];

/**
 * `make run`: serves this Mac's Messages, after writing the configuration if there is none. Runs the demo instead on
 * other systems, and on a Mac without the folder of Messages.
 */
export async function run(options: CommonOptions, context: HostContext): Promise<number> {
  const { environment, stdout } = context;
  const messagesFolder = `${environment.homeFolder}/Library/Messages`;
  if (environment.platform !== 'darwin' || failure(() => statSync(messagesFolder)) === 'ENOENT') {
    return demo(options, context);
  }
  return withLog(context, async (log) => {
    const folder = configFolder(options.configDir, environment);
    const found = readConfig(folder, environment);
    const reading = found.state === 'absent' ? firstLaunch(folder, context) : found;
    const databaseFolder = reading.state === 'usable' ? dirname(reading.config.backend.chatDbPath) : messagesFolder;
    // Tests the permission by listing the folder of chat.db, because only SQLite may open chat.db itself (decision B1).
    // The folder and the file need the same permission.
    if (['EPERM', 'EACCES'].includes(failure(() => readdirSync(databaseFolder)) ?? '')) stdout(...NO_ACCESS);
    return serveConfigured(reading, {}, log, context);
  });
}

function failure(look: () => unknown): string | undefined {
  try {
    look();
    return undefined;
  } catch (error) {
    return errorCode(error);
  }
}
