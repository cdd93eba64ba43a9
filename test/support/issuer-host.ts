import { join } from 'node:path';
import type { Caller } from '../../src/core/model/caller.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { Counters } from '../../src/core/runtime/counters.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { access } from '../../src/features/access/feature.ts';
import type { KeyRing } from '../../src/features/access/port.ts';
import { noContacts } from '../../src/features/contacts/no-contacts.ts';
import { mcpCalls } from '../../src/features/mcp/calls.ts';
import { lazyMcpService } from '../../src/features/mcp/lazy-service.ts';
import { AuthorizationServer } from '../../src/features/oauth/authorization-server.ts';
import { oauth as oauthFeature } from '../../src/features/oauth/feature.ts';
import { IssuerHost } from '../../src/features/oauth/issuer-host.ts';
import { oauthStore } from '../../src/features/oauth/oauth-store.ts';
import { ANY_KEY } from './any-key.ts';
import { FakeClock } from './fake-clock.ts';
import { FeatureGateway, MemorySearch } from './feature-gateway.ts';
import { KEY } from './http-gateway.ts';
import { collectingLog } from './log.ts';
import { ISSUER, tunnelTo } from './oauth.ts';
import { temporaryFolder } from './temporary.ts';

interface IssuerHostOptions {
  /** The folder with an earlier door's state.db. */
  readonly folder?: string;
  /** Client documents by address. */
  readonly documents?: Readonly<Record<string, unknown>>;
  readonly rateLimitPerMinute?: number;
  readonly allowedHosts?: readonly string[];
}

/** Opens the issuer's door in front of a gateway without real keys, with the test's clock. */
export async function openIssuerHost({
  folder = temporaryFolder(),
  documents = {},
  rateLimitPerMinute = 10_000,
  allowedHosts = [],
}: IssuerHostOptions = {}) {
  const state = openStateDatabase(join(folder, 'state.db'), [access, oauthFeature]);
  const clock = new FakeClock();
  const revoked: string[] = [];
  let made = 0;
  // These members are enough to list the tools.
  const caller = {
    key: ANY_KEY,
    port: ({ name }: { readonly name: string }) => (name === 'search' ? new MemorySearch() : noContacts),
    webhooks: {},
    reader: {},
  } as unknown as Caller;
  const keys = {
    add: () => {
      made += 1;
      return { ...ANY_KEY, id: `key${made}` };
    },
  } as unknown as KeyRing;
  const oauth = new AuthorizationServer({
    issuer: ISSUER,
    clock,
    store: oauthStore(state),
    isOwnerKey: (key) => key === KEY,
    keys,
    revoke: async (keyId) => void revoked.push(keyId),
    callerOf: (keyId) => (revoked.includes(keyId) ? undefined : caller),
    readDocument: async ({ href }) => {
      if (!(href in documents)) throw new Error('its server answered 404');
      return documents[href];
    },
  });
  const mcp = lazyMcpService({
    features: [access],
    ...{ clock: systemClock, log: collectingLog(), counters: new Counters(), version: '1' },
    timeZone: () => 'UTC',
  });
  const parts = { mcp, settings: { allowOwnerKey: true } };
  const gateway = await FeatureGateway.start({
    mcp: parts,
    limited: ANY_KEY,
    settings: { rateLimitPerMinute, allowedHosts },
    otherHosts: [new IssuerHost({ issuer: ISSUER, oauth, rateLimitPerMinute, mcp: mcpCalls(mcp, parts.settings) })],
  });
  const close = async (): Promise<void> => {
    await gateway.close();
    state.close();
  };
  return { tunnel: tunnelTo(gateway.port), folder, clock, revoked, gateway, close };
}
