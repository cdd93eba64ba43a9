import { connected, eventTypes, groupOf, nonEmpty, withFilters } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';

/** A receiver of webhooks on the command line, for trying them out. */
export const webhookListener = feature({
  name: 'webhook-listener',
  needs: ['client-commands'],
  commands(program) {
    withFilters(connected(groupOf(program, 'webhooks').command('listen')))
      .description(
        'Receive events here for a while: registers a webhook, checks and prints the deliveries, then removes it.',
      )
      .addOption(eventTypes('--event <type>', 'an event type to subscribe to; may be repeated (all but changes)'))
      .option('--forward-to <url>', 'also post each delivery to this URL, and return its answer', nonEmpty)
      .option('--secret-file <file>', 'file with the secret that signs deliveries (default: a random secret)', nonEmpty)
      .examples('postern webhooks listen', 'postern webhooks listen --forward-to http://127.0.0.1:8080/hook')
      .asks(async () => (await import('./listen-command.ts')).listen);
  },
});
