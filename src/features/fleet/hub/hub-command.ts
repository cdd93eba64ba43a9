import type { HostContext } from '../../../core/cli/client-context.ts';
import type { ServeOptions } from '../../../core/cli/commands/serve-command.ts';
import { EXIT } from '../../../core/cli/context.ts';
import { refuseConfig, runService, withLog } from '../../../core/cli/run-service.ts';
import { readConfig } from '../../../core/config/config-file.ts';
import { configFolder } from '../../../core/config/environment.ts';
import { quoted } from '../../../core/model/command-words.ts';

/** `postern hub`: runs a hub, as `postern serve` runs the service of a Mac. */
export function runHub({ configDir, supervised = false }: ServeOptions, context: HostContext): Promise<number> {
  return withLog(context, async (log) => {
    const { environment, stderr } = context;
    const folder = configFolder(configDir, environment);
    const reading = readConfig(folder, environment);
    if (reading.state === 'absent') {
      stderr(
        `There is no ${reading.path}. Join the fleet first:`,
        `  postern fleet join --hub --file hub.line --config-dir ${quoted(folder)}`,
      );
      return EXIT.config;
    }
    if (reading.state !== 'usable') return refuseConfig(reading, supervised, log, context);
    for (const warning of reading.warnings) log.warn(warning);
    const { startHub } = await import('./open.ts');
    const { platform, homeFolder } = environment;
    return runService(reading.config, log, context, { supervised, platform, homeFolder, start: startHub });
  });
}
