import { Option } from 'commander';
import {
  connected,
  eventTypes,
  gathered,
  nonEmpty,
  type ProgramCommand,
  rowOrOffset,
  withFilters,
} from '../../core/cli/declaration.ts';
import { INCLUDES } from '../../core/model/include.ts';
import { FAILURE_MODES } from '../../core/model/webhook.ts';

const ID = 'the id, the beginning of it, or the name';

/** The commands for webhooks: settings and deliveries. */
export function declareWebhookCommands(program: ProgramCommand): void {
  const webhooks = program
    .command('webhooks')
    .description('List, add, change, test and replay webhooks.')
    .examples(
      'postern webhooks',
      'postern webhooks add https://example.net/hook --secret-file secret.txt --on-failure hold',
    );
  connected(webhooks.command('list', { isDefault: true }))
    .description('List the webhooks (the default).')
    .examples('postern webhooks list --json')
    .asks(async () => (await import('./webhooks-commands.ts')).listWebhooks);
  declareSettings(webhooks);
  connected(webhooks.command('deliveries'))
    .description('List the delivery that a webhook holds, then its last 100 deliveries.')
    .argument('<webhook>', ID, nonEmpty)
    .examples('postern webhooks deliveries 3f2a')
    .asks(async () => (await import('./webhooks-commands.ts')).listDeliveries);
  connected(webhooks.command('test'))
    .description('Send a test event and print the receiver’s response; exits with 1 if it failed.')
    .argument('<webhook>', ID, nonEmpty)
    .examples('postern webhooks test 3f2a')
    .asks(async () => (await import('./webhooks-commands.ts')).testWebhook);
  connected(webhooks.command('retry'))
    .description('Try a held delivery now and print how it ended; exits with 1 if it failed again, or none is held.')
    .argument('<webhook>', ID, nonEmpty)
    .examples("postern webhooks retry 'My receiver'")
    .asks(async () => (await import('./webhooks-commands.ts')).retryWebhook);
  connected(webhooks.command('replay'))
    .description('Redeliver all events after a row, or dropped events; or skip undelivered events.')
    .argument('<webhook>', ID, nonEmpty)
    .option('--after <row>', 'the row id or offset to go back to; 0 for all', rowOrOffset)
    .option('--dropped', 'deliver dropped events, before the next event')
    .option('--latest', 'skip everything undelivered and continue with the next event')
    .examples('postern webhooks replay 3f2a --after 1200', 'postern webhooks replay 3f2a --dropped')
    .asks(async () => (await import('./webhooks-commands.ts')).replayWebhook);
}

function declareSettings(webhooks: ProgramCommand): void {
  settings(connected(webhooks.command('add')))
    .description('Register a webhook. It receives events from now on.')
    .argument('<url>', 'the URL that events are posted to', nonEmpty)
    .option('--paused', 'deliver nothing until it is resumed')
    .examples(
      'postern webhooks add http://127.0.0.1:8080/hook --event message.received',
      "postern webhooks add https://n8n.example/webhook/messages --headers-file headers.txt --conversation 'Ana Silva'",
      'postern webhooks add http://127.0.0.1:8080/hook --event message.updated --event message.removed',
    )
    .asks(async () => (await import('./webhook-settings-commands.ts')).addWebhook);
  settings(connected(webhooks.command('edit')))
    .description('Change the given settings of a webhook. It keeps all others, and its position.')
    .argument('<webhook>', ID, nonEmpty)
    .option('--to <url>', 'the URL that events are posted to', nonEmpty)
    .option('--no-name', 'remove the name')
    .addOption(new Option('--no-secret', 'remove the secret: deliveries are not signed').conflicts('secretFile'))
    .option('--remove-header <name>', 'remove this header; may be repeated', gathered)
    .option('--no-filter', 'remove the filter: events of all conversations and senders')
    .examples(
      'postern webhooks edit 3f2a --to https://example.net/new-hook',
      'postern webhooks edit 3f2a --secret-file new.txt',
    )
    .asks(async () => (await import('./webhook-settings-commands.ts')).editWebhook);
  connected(webhooks.command('show'))
    .description('Show the settings and the state of a webhook.')
    .argument('<webhook>', ID, nonEmpty)
    .examples('postern webhooks show 3f2a')
    .asks(async () => (await import('./webhook-settings-commands.ts')).showWebhook);
  for (const change of ['pause', 'resume'] as const) {
    connected(webhooks.command(change))
      .description(
        change === 'pause'
          ? 'Pause a webhook: nothing is delivered until it is resumed. It keeps its position.'
          : 'Resume a webhook. It then receives all events since the pause.',
      )
      .argument('<webhook>', ID, nonEmpty)
      .examples(`postern webhooks ${change} 3f2a`)
      .asks(async () => (await import('./webhook-settings-commands.ts')).pauseWebhook.bind(null, change));
  }
  connected(webhooks.command('remove'))
    .description('Remove a webhook, so that nothing more is sent to it.')
    .argument('<webhook>', ID, nonEmpty)
    .examples('postern webhooks remove 3f2a')
    .asks(async () => (await import('./webhooks-commands.ts')).removeWebhook);
}

/** Adds the settings that can be given when a webhook is added or changed. */
function settings(command: ProgramCommand): ProgramCommand {
  return withFilters(command)
    .addOption(eventTypes('--event <type>', 'an event type to subscribe to; may be repeated (all but changes)'))
    .option('--name <name>', 'what to call it', nonEmpty)
    .option('--secret-file <file>', 'file with the secret that signs deliveries', nonEmpty)
    .option(
      '--headers-file <file>',
      'file with headers for each delivery, one per line: Authorization: Bearer …',
      nonEmpty,
    )
    .addOption(new Option('--on-failure <mode>', 'after 3 failures: drop, or hold and retry').choices(FAILURE_MODES))
    .addOption(new Option('--include <part...>', 'what to add to each message').choices(INCLUDES));
}
