import type { CommandResult, RunCommand } from '../../src/core/runtime/command.ts';

export interface CommandFault {
  /** Called with the command line; true makes this call fail. */
  readonly matches: (line: string) => boolean;
  readonly code: number | (() => number);
  readonly stderr?: string;
  /** If true, the program does its work but still reports a failure. */
  readonly runs?: boolean;
}

/** Returns a runner of commands whose calls fail if the fault matches them. */
export function failingCommands(run: RunCommand, fault: CommandFault): RunCommand {
  return async (command, args, options): Promise<CommandResult> => {
    if (!fault.matches([command, ...args].join(' '))) return run(command, args, options);
    if (fault.runs === true) await run(command, args, options);
    const code = typeof fault.code === 'number' ? fault.code : fault.code();
    return { code, stdout: '', stderr: fault.stderr ?? 'failed by the test', trouble: null };
  };
}

/** Matches the first calls, up to `count`, whose line begins with `start`. */
export function firstCalls(start: string, count = 1): (line: string) => boolean {
  let left = count;
  return (line) => {
    if (left === 0 || !line.startsWith(start)) return false;
    left -= 1;
    return true;
  };
}
