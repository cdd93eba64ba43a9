import { Option } from 'commander';
import { APPROVAL_STATES } from '../../client/access-types.ts';
import { APPROVAL_MODES, PRESETS } from '../../client/key-types.ts';
import { connected, count, gathered, groupOf, nonEmpty, type ProgramCommand } from '../../core/cli/declaration.ts';
import { SCOPES } from '../../core/model/key.ts';

const NAME = 'the id or the name of the key';
const HOST =
  'a host that webhooks of the key may post to, besides this machine; host:port allows only that port; may be repeated';
const ID = 'the id, or the beginning of it';

/** Declares the commands for limited keys, sends that wait for approval, and the audit log. */
export function declareAccessCommands(program: ProgramCommand): void {
  declareKeyCommands(program);
  declareApprovalCommands(program);
  connected(program.command('audit'))
    .description('Show who did what with which key, oldest first.')
    .option('--key <id>', 'only what this key did; "owner" means your own key', nonEmpty)
    .option('--after <line>', 'only lines after this id', count)
    .option('--limit <number>', 'maximum number (100)', count)
    .examples('postern audit', 'postern audit --key 7f3a9c1e --json')
    .asks(async () => (await import('./cli/audit-command.ts')).audit);
}

function declareKeyCommands(program: ProgramCommand): void {
  const keys = program
    .command('keys')
    .description('Make and change keys that may do less than yours, for agents and scripts.')
    .examples(
      "postern keys add agent --preset assistant --read 'Ana Silva' --send 'Ana Silva'",
      'postern keys check agent --send +15550100',
    );
  connected(keys.command('add'))
    .description('Make a key, and print it with setup lines for common clients. It is never shown again.')
    .argument('<name>', 'what to call it', nonEmpty)
    .addOption(new Option('--preset <preset>', 'what it is for').choices(Object.keys(PRESETS)))
    .addOption(new Option('--scope <scope...>', 'what it may do, instead of a preset').choices(SCOPES))
    .option(
      '--read <whom>',
      'whom it may read: an address, a conversation id or a name; * for everybody; may be repeated',
      gathered,
    )
    .option('--send <whom>', 'whom it may write to, in the same forms; may be repeated', gathered)
    .addOption(new Option('--approval <when>', 'which sends wait for you').choices(APPROVAL_MODES))
    .option('--callback-host <host>', HOST, gathered)
    .option('--max-wait <seconds>', 'how long one request may wait, at most 50', Number)
    .option(
      '--expires <time>',
      'when it expires: an instant such as 2026-12-31T00:00:00Z, or never (default: in 90 days)',
      nonEmpty,
    )
    .option('--dry-run', 'make every send a dry run, which only reports what would happen')
    .examples('postern keys add reporter --preset notifier --send me@example.com')
    .asks(async () => (await import('./cli/keys-commands.ts')).addKey);
  connected(keys.command('list', { isDefault: true }))
    .description('List the keys (the default).')
    .examples('postern keys list')
    .asks(async () => (await import('./cli/keys-commands.ts')).listKeys);
  connected(keys.command('show'))
    .description('Show what a key may do, and which groups it can no longer write to because somebody joined.')
    .argument('<key>', NAME, nonEmpty)
    .examples('postern keys show agent')
    .asks(async () => (await import('./cli/keys-commands.ts')).showKey);
  declareKeyChanges(keys);
}

/** Declares the commands that change a key, or say what it may do. */
function declareKeyChanges(keys: ProgramCommand): void {
  for (const change of ['allow', 'forbid'] as const) {
    connected(keys.command(change))
      .description(
        change === 'allow'
          ? 'Add people or hosts to the lists of a key.'
          : 'Remove people or hosts from the lists of a key.',
      )
      .argument('<key>', NAME, nonEmpty)
      .option('--read <whom>', 'whom it may read; may be repeated', gathered)
      .option('--send <whom>', 'whom it may write to; may be repeated', gathered)
      .option('--callback-host <host>', HOST, gathered)
      .examples(`postern keys ${change} agent --send +15550100`)
      .asks(async () => (await import('./cli/keys-commands.ts')).changeLists.bind(null, change));
  }
  connected(keys.command('check'))
    .description('Show whether a send with a key would be allowed, held for you or refused; exits with 1 if refused.')
    .argument('<key>', NAME, nonEmpty)
    .requiredOption('--send <whom>', 'an address or a conversation id', nonEmpty)
    .examples('postern keys check agent --send +15550100')
    .asks(async () => (await import('./cli/keys-commands.ts')).checkKey);
  connected(keys.command('rotate'))
    .description('Give a key a new secret. The old one works for another 24 hours.')
    .argument('<key>', NAME, nonEmpty)
    .examples('postern keys rotate agent')
    .asks(async () => (await import('./cli/keys-commands.ts')).rotateKey);
  connected(keys.command('revoke'))
    .description('Revoke a key at once. Removes its webhooks, and cancels its held and scheduled sends.')
    .argument('<key>', NAME, nonEmpty)
    .examples('postern keys revoke agent')
    .asks(async () => (await import('./cli/keys-commands.ts')).revokeKey);
}

function declareApprovalCommands(program: ProgramCommand): void {
  const approvals = groupOf(program, 'approvals')
    .description('List and decide sends that wait for you.')
    .examples('postern approvals list', 'postern approvals approve 0d4c');
  connected(approvals.command('list', { isDefault: true }))
    .description('List sends that wait for a decision (the default).')
    .addOption(new Option('--state <state>', 'only those in this state').choices(APPROVAL_STATES))
    .option('--all', 'include those already decided')
    .examples('postern approvals list --all')
    .asks(async () => (await import('./cli/approvals-commands.ts')).listApprovals);
  connected(approvals.command('show'))
    .description('Show exactly what would be sent, and to whom.')
    .argument('<approval>', ID, nonEmpty)
    .examples('postern approvals show 0d4c')
    .asks(async () => (await import('./cli/approvals-commands.ts')).showApproval);
  connected(approvals.command('approve'))
    .description('Show a send, ask whether to send it, and send exactly what was shown.')
    .argument('<approval>', ID, nonEmpty)
    .option('--yes', 'do not ask')
    .examples('postern approvals approve 0d4c')
    .asks(async () => (await import('./cli/approvals-commands.ts')).approve);
  connected(approvals.command('deny'))
    .description('Deny a send, so that it is never sent.')
    .argument('<approval>', ID, nonEmpty)
    .examples('postern approvals deny 0d4c')
    .asks(async () => (await import('./cli/approvals-commands.ts')).deny);
}
