import { readConfig } from '../config/file.ts';
import { askAutomation as ask } from '../mac/automation.ts';
import { systemClock } from '../runtime/clock.ts';
import { type Context, EXIT, folderOf, type PlaceOptions } from './context.ts';

/** `postern ask-automation`: asks in the foreground, in the name of the program that runs this. 1 when it is not granted. */
export async function askAutomation(options: PlaceOptions, context: Context): Promise<number> {
  const reading = readConfig(folderOf(options, context), context.environment);
  const osascriptPath = reading.state === 'usable' ? reading.config.backend.osascriptPath : '/usr/bin/osascript';
  const { state, detail } = await ask({ osascriptPath, clock: systemClock, signal: new AbortController().signal });
  context.stdout(detail);
  return state === 'granted' ? EXIT.ok : EXIT.crash;
}
