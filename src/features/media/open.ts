import { dirname } from 'node:path';
import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import { Conversions } from './conversions.ts';

/** Creates the converter. It converts nothing before the first request. */
export function openMedia({ config, host, closers, files }: Core): Running {
  const { clock, log, run, cacheFolder, homeFolder } = host;
  const conversions = new Conversions({
    files: files.originals,
    cacheFolder,
    homeFolder,
    // On a Mac, the programs that convert attachments are in the same folder as osascript.
    toolFolder: dirname(config.backend.osascriptPath),
    run,
    clock,
    log,
  });
  files.convertedBy(conversions);
  // Not `Running.close`: requests that are being answered may still wait for a conversion.
  closers.add('conversions', () => conversions.close());
  return {};
}
