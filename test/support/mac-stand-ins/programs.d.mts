import type { CommandResult } from '../../../src/core/runtime/command.ts';

export function nameOf(command: string): string;
export function isStandIn(command: string): boolean;
export function runStandIn(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<CommandResult>;
