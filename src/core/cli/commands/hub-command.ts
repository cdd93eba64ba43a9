import { readConfig } from '../../config/config-file.ts';
import { configFolder } from '../../config/environment.ts';
import { type Context, EXIT } from '../context.ts';
import { refuseConfig, runService, withLog } from '../run-service.ts';
import { firstLaunch, type ServeOptions } from './serve-command.ts';

/**
 * `postern hub`: runs a hub, as `postern serve` runs the service of a Mac. The folder's config.toml must name the
 * servers of a fleet.
 */
export function hub({ configDir, supervised = false }: ServeOptions, context: Context): Promise<number> {
  return withLog(context, async (log) => {
    const { environment, stdout } = context;
    const folder = configFolder(configDir, environment);
    let reading = readConfig(folder, environment);
    if (reading.state === 'absent') {
      reading = firstLaunch(folder, context);
      if (reading.state === 'usable') {
        stdout('The hub is not running yet. Add the section [fleet] to the configuration, then start it again.');
        return EXIT.ok;
      }
    }
    if (reading.state !== 'usable') return refuseConfig(reading, supervised, log, context);
    for (const warning of reading.warnings) log.warn(warning);
    const { startHub } = await import('../../../features/fleet/open-hub.ts');
    const { platform, homeFolder } = environment;
    return runService(reading.config, log, context, { supervised, platform, homeFolder, start: startHub });
  });
}
