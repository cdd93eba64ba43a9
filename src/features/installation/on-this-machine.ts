import type { Settings } from '../../../installer/options.ts';
import { type Context, EXIT } from '../../core/cli/context.ts';
import { readConfig } from '../../core/config/config-file.ts';
import type { Environment } from '../../core/config/environment.ts';
import { usualValues } from '../../core/config/setting.ts';
import { SETTINGS } from '../../core/config/settings.ts';
import { errorCode, isAppError } from '../../core/model/errors.ts';

/** Returns the parts of the configuration that the installer needs. */
export function settingsIn(configDir: string, environment: Environment): Settings {
  const reading = readConfig(configDir, environment);
  if (reading.state === 'absent') return { kind: 'none', server: usualValues(SETTINGS.server, environment) };
  if (reading.state === 'unusable') return { kind: 'unusable', mistakes: reading.mistakes };
  return { kind: 'usable', config: reading.config, warnings: reading.warnings };
}

/** Awaits `work`. An AppError or an error of the system becomes its sentence and advice, and exit code 1. */
export async function reportErrors(work: Promise<void>, { stderr, paintError, progress }: Context): Promise<number> {
  try {
    await work;
    return EXIT.ok;
  } catch (error) {
    // A file that cannot be read or written is no bug: the system's message names it.
    if (!isAppError(error) && !/^E[A-Z]+$/.test(errorCode(error) ?? '')) throw error;
    const { message, hint } = error as Error & { readonly hint?: string };
    stderr(paintError('red', message), ...(hint === undefined ? [] : [hint]));
    return EXIT.failed;
  } finally {
    progress(undefined);
  }
}
