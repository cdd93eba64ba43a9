import type { Command } from 'commander';
import { connected, groupOf, helpExamples, nonEmpty, type Runs, served } from '../../core/cli/declaration.ts';

/** Declares the command that proves the self-chat, among those that decide. */
export function declareProveCommand(program: Command, runs: Runs): void {
  connected(groupOf(program, 'approvals').command('prove'))
    .description('Prove that a conversation is with yourself, so that you can approve sends there with a tapback.')
    .argument('[code]', 'the code that Postern sent there; without it, Postern sends a code and asks for it', nonEmpty)
    .addHelpText('after', helpExamples('postern approvals prove', 'postern approvals prove 482913'))
    .action(runs(served(async () => (await import('./prove-command.ts')).proveSelfChat)));
}
