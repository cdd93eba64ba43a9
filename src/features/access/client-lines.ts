import type { Config } from '../../core/config/config.ts';
import type { Feature } from '../../core/feature.ts';
import type { ClientLines, ClientSetup } from '../../core/model/client-lines.ts';

/** The features whose lines a key may need, and the configuration of the service; undefined if it is unknown. */
export interface SetUpService {
  readonly features: readonly Pick<Feature, 'name' | 'clients'>[];
  readonly config: Pick<Config, 'features' | 'server'> | undefined;
}

/**
 * Returns the set-up lines for each client that the key suits, in display order: those of the features first. They are
 * the same wherever a person reads them.
 */
export function clientLines(setup: ClientSetup, { features, config }: SetUpService): readonly ClientLines[] {
  const { secret, url } = setup;
  const server = config?.server ?? { host: '127.0.0.1', port: 0 };
  return [
    ...features.flatMap((one) => one.clients?.(setup, config?.features[one.name], server) ?? []),
    {
      client: 'n8n',
      where: 'a credential of type Header Auth or Postern API',
      lines: ['Name: X-API-Key', `Value or API key: ${secret}`, `URL of the service: ${url}`],
    },
    {
      client: 'curl',
      where: 'in a terminal',
      lines: [`curl -H 'X-API-Key: ${secret}' ${url}/api/v1/keys/me`],
    },
  ];
}
