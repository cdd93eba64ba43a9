import { layoutOf } from '../../../../installer/install-layout.ts';
import { type ConfigReading, createConfig, readConfig } from '../../config/config-file.ts';
import { configFolder } from '../../config/environment.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { ProcessLog } from '../../runtime/log.ts';
import { boundLogFiles } from '../../runtime/log-files.ts';
import type { HostContext } from '../client-context.ts';
import { type CommonOptions, type Context, EXIT } from '../context.ts';
import { refuseConfig, runService, withLog } from '../run-service.ts';

export interface ServeOptions extends CommonOptions {
  /** True if launchd or another supervisor restarts this process (decisions A3, C6). */
  readonly supervised?: boolean;
}

/** `postern serve`: writes the configuration at the first launch and exits (decision A2). Later launches serve. */
export function serveCommand(options: ServeOptions, context: HostContext): Promise<number> {
  return withLog(context, async (log) => {
    const folder = configFolder(options.configDir, context.environment);
    const reading = readConfig(folder, context.environment);
    if (reading.state !== 'absent') return serveConfigured(reading, options, log, context);
    const written = firstLaunch(folder, context);
    if (written.state !== 'usable') return serveConfigured(written, options, log, context);
    context.stdout('The service is not running yet. Review the configuration, then start Postern again.');
    return EXIT.ok;
  });
}

/** Serves with this configuration, or reports its mistakes. */
export async function serveConfigured(
  reading: ConfigReading,
  { supervised = false }: ServeOptions,
  log: ProcessLog,
  context: HostContext,
): Promise<number> {
  if (reading.state !== 'usable') return refuseConfig(reading, supervised, log, context);
  for (const warning of reading.warnings) log.warn(warning);
  const { platform, homeFolder } = context.environment;
  const isAgent = supervised && platform === 'darwin';
  const letLogsGrow = isAgent
    ? boundLogFiles(layoutOf(homeFolder).logFiles, { clock: systemClock, log })
    : () => undefined;
  try {
    return await runService(reading.config, log, context, { supervised, platform, homeFolder });
  } finally {
    letLogsGrow();
  }
}

/** Writes the configuration and prints its path. */
export function firstLaunch(folder: string, { environment, stdout }: Context): ConfigReading {
  const reading = createConfig(folder, environment);
  if (reading.state === 'usable') {
    stdout(
      'First launch: wrote a configuration with a new API key to',
      `  ${reading.path}`,
      'Clients send that key in the header X-API-Key.',
    );
  }
  return reading;
}
