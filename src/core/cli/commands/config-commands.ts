import { configPath, readConfig } from '../../config/config-file.ts';
import { rotateOwnerKey } from '../../config/key-rotation.ts';
import { type Context, EXIT, type FolderOptions, folderOf } from '../context.ts';
import { copyable } from '../invocation.ts';
import { json, printable } from '../output/text.ts';

export interface ConfigOptions extends FolderOptions {
  readonly json?: boolean;
}

/** `postern config path`: prints the path of the configuration, whether it exists or not. */
export async function showPath(options: ConfigOptions, context: Context): Promise<void> {
  context.stdout(configPath(folderOf(options, context)));
}

/** `postern config check`: reports every mistake at once. Exits with 78 if the service would not start. */
export async function check(options: ConfigOptions, context: Context): Promise<number> {
  const reading = readConfig(folderOf(options, context), context.environment);
  const { path, state } = reading;
  const warnings = reading.state === 'absent' ? [] : reading.warnings;
  const mistakes =
    reading.state === 'unusable' ? reading.mistakes : reading.state === 'absent' ? ['There is no such file.'] : [];
  if (options.json === true) context.stdout(json({ path, state, mistakes, warnings }, 2));
  else {
    const verdict = state === 'usable' ? `${path} can be used.` : `${path} cannot be used.`;
    const advice = state === 'absent' ? [firstStart(options, context)] : [];
    context.stdout(verdict, ...indented([...mistakes, ...warnings], options, context), ...advice);
  }
  return state === 'usable' ? EXIT.ok : EXIT.config;
}

/** `postern config key`: prints the owner's key and nothing else, for `$(…)` in a shell. */
export async function showOwnerKey(options: ConfigOptions, context: Context): Promise<number> {
  const reading = readConfig(folderOf(options, context), context.environment);
  if (reading.state === 'usable') {
    context.stdout(reading.config.auth.apiKey);
    return EXIT.ok;
  }
  const isAbsent = reading.state === 'absent';
  context.stderr(
    isAbsent ? `There is no configuration at ${reading.path}.` : `${reading.path} cannot be used.`,
    ...(isAbsent ? [firstStart(options, context)] : indented(reading.mistakes, options, context)),
  );
  return EXIT.config;
}

/** `postern config rotate-key`: writes a new owner's key into config.toml. Never prints the key. */
export async function rotate(options: ConfigOptions, context: Context): Promise<number> {
  const rotation = rotateOwnerKey(folderOf(options, context), context.environment);
  if (rotation.isDone) {
    context.stdout(
      `Wrote a new API key to ${rotation.path}.`,
      'The old key works until the service restarts. Restart it, then give the new key to your clients.',
    );
    return EXIT.ok;
  }
  context.stderr(
    `The key was not changed: ${rotation.path} cannot be used.`,
    ...indented(rotation.mistakes, options, context),
  );
  return EXIT.config;
}

function firstStart(options: ConfigOptions, context: Context): string {
  return options.demo === true
    ? 'Start Postern once (postern demo) to write one.'
    : copyable('Start Postern once to write one: `postern serve`', options, context);
}

/** Returns lines that cannot control a terminal, with commands that select the same configuration. */
function indented(lines: readonly string[], options: ConfigOptions, context: Context): readonly string[] {
  return lines.map((line) => `  ${copyable(printable(line), options, context)}`);
}
