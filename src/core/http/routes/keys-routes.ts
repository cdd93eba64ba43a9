import type { ClientsOf } from '../../model/client-lines.ts';
import { NO_USE } from '../../model/key.ts';
import type { AccessService } from '../../model/ports/access-ports.ts';
import { keyBody, keyChangesBody, keyCheckQuery, keysQuery, newKeyQuery } from '../../schema/key-schema.ts';
import { readBody } from '../../schema/mistakes.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import type { Handlers } from '../router.ts';
import { withoutUndefined } from '../without-undefined.ts';

/** Returns the handlers for limited keys (decision L1). */
export function keyRoutes(access: () => Promise<AccessService>, clients: ClientsOf, ownUrl: () => string) {
  return {
    async listKeys({ query }) {
      const { include } = readQuery(keysQuery, query);
      const { keys, audit } = await access();
      const today = audit.usedToday();
      const listed = include === undefined ? keys.list() : [...keys.list(), ...keys.revoked()];
      return { status: 200, body: listed.map((key) => ({ ...key, today: today.get(key.id) ?? NO_USE })) };
    },

    async addKey(exchange) {
      const { include } = readQuery(newKeyQuery, exchange.query);
      const { name, preset, scopes, ...settings } = readBody(keyBody, await exchange.json());
      const key = (await access()).keys.add({ name, preset, scopes, settings: withoutUndefined(settings) });
      const body = include === undefined ? key : { ...key, clients: clients(key, ownUrl()) };
      return { status: 201, body, headers: { Location: `keys/${key.id}` } };
    },

    async getKey(exchange) {
      return { status: 200, body: (await access()).keys.get(exchange.param('id')) };
    },

    async getOwnKey({ caller }) {
      return { status: 200, body: (await access()).keys.mine(caller) };
    },

    async checkKey(exchange) {
      const { to } = readQuery(keyCheckQuery, exchange.query);
      return { status: 200, body: (await access()).keys.check(exchange.param('id'), to) };
    },

    async changeKey(exchange) {
      const changes = withoutUndefined(readBody(keyChangesBody, await exchange.json()));
      return { status: 200, body: (await access()).keys.change(exchange.param('id'), changes) };
    },

    async rotateKey(exchange) {
      return { status: 200, body: (await access()).keys.rotate(exchange.param('id')) };
    },

    async revokeKey(exchange) {
      const revocation = (await access()).keys.revoke(exchange.param('id'));
      return exchange.wantsBody ? { status: 200, body: revocation } : { status: 204 };
    },
  } satisfies Partial<Handlers>;
}
