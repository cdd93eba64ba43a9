import type { StatusReport } from './status.ts';

/** How a person starts this program from a shell, and which options select this service. */
export interface CommandWords {
  /** Such as `postern`, or `node /Users/ana/postern/dist/main.js`. Quoted for a shell. */
  readonly program: string;
  /**
   * Such as `--config-dir /elsewhere`; empty if the service is the one that commands reach without options. Quoted for
   * a shell.
   */
  readonly options: string;
}

/** Quotes a path, so that it can be pasted into a shell. */
export function quoted(path: string): string {
  return /^[\w/.,:@%+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

/** Returns the line that runs a command, such as `keys list`, with this service. */
export function commandLine({ program, options }: CommandWords, words: string): string {
  return [program, words, options].filter((part) => part !== '').join(' ');
}

/**
 * Completes each command in backticks or double quotes, such as `postern keys list`, so that a user can copy and run
 * it. Backticks are removed, and double quotes stay.
 */
export function withCommands(text: string, lineOf: (words: string) => string): string {
  return text.replaceAll(/`postern ([^`]+)`|"postern ([^"]+)"/g, (_found, bare?: string, quoted?: string) =>
    bare === undefined ? `"${lineOf(quoted ?? '')}"` : lineOf(bare),
  );
}

/**
 * Completes the commands in a text if the caller is the owner. Others get the text as it is, because the path of the
 * program names the user of the Mac.
 */
export function completedFor(
  caller: { readonly key: unknown } | undefined,
  text: string,
  cli: CommandWords | undefined,
): string {
  if (cli === undefined || caller === undefined || caller.key !== undefined) return text;
  return withCommands(text, (words) => commandLine(cli, words));
}

/** Adds how commands are run to the owner's status, and completes the commands in its warnings and problems. */
export function ownerStatus(report: StatusReport, cli: CommandWords | undefined): StatusReport {
  if (cli === undefined) return report;
  const complete = (text: string): string => withCommands(text, (words) => commandLine(cli, words));
  const { warnings, problems } = report;
  return {
    ...report,
    cli,
    ...(warnings && { warnings: warnings.map((one) => ({ ...one, text: complete(one.text) })) }),
    ...(problems && { problems: problems.map((one) => ({ ...one, hint: one.hint && complete(one.hint) })) }),
  };
}
