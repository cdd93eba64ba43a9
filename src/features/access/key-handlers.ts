import { NO_USE } from '../../client/key-types.ts';
import type { Handler } from '../../core/http/router.ts';
import { type WithoutUndefined, withoutUndefined } from '../../core/http/without-undefined.ts';
import { readBody } from '../../core/schema/mistakes.ts';
import { readQuery } from '../../core/schema/query-parameters.ts';
import { ACCESS, RIGHTS } from './port.ts';
import { keyBody, keyChangesBody, keyCheckQuery, keysQuery, newKeyQuery } from './schema/key-schema.ts';

/** The handlers for limited keys (decision L1). */
export const KEY_HANDLERS = {
  async listKeys({ query, caller }) {
    const { include } = readQuery(keysQuery, query);
    const { keys, audit } = caller.port(ACCESS);
    const today = audit.usedToday();
    const listed = include === undefined ? keys.list() : [...keys.list(), ...keys.revoked()];
    return { status: 200, body: listed.map((key) => ({ ...key, today: today.get(key.id) ?? NO_USE })) };
  },

  async addKey(exchange) {
    const { include } = readQuery(newKeyQuery, exchange.query);
    const { name, preset, scopes, ...settings } = readBody(keyBody, await exchange.json());
    const key = exchange.caller.port(ACCESS).keys.add({
      name,
      preset,
      scopes,
      settings: givenOf(settings),
    });
    const body = include === undefined ? key : { ...key, clients: exchange.caller.port(ACCESS).clientsOf(key) };
    return { status: 201, body, headers: { Location: `keys/${key.id}` } };
  },

  async getKey(exchange) {
    return { status: 200, body: exchange.caller.port(ACCESS).keys.get(exchange.param('id')) };
  },

  async getOwnKey({ caller }) {
    return { status: 200, body: caller.port(RIGHTS).own() };
  },

  async checkKey(exchange) {
    const { to } = readQuery(keyCheckQuery, exchange.query);
    return { status: 200, body: exchange.caller.port(ACCESS).keys.check(exchange.param('id'), to) };
  },

  async changeKey(exchange) {
    const changes = givenOf(readBody(keyChangesBody, await exchange.json()));
    return { status: 200, body: exchange.caller.port(ACCESS).keys.change(exchange.param('id'), changes) };
  },

  async rotateKey(exchange) {
    return { status: 200, body: exchange.caller.port(ACCESS).keys.rotate(exchange.param('id')) };
  },

  async revokeKey(exchange) {
    const revocation = exchange.caller.port(ACCESS).keys.revoke(exchange.param('id'));
    return exchange.wantsBody ? { status: 200, body: revocation } : { status: 204 };
  },
} satisfies Readonly<Record<string, Handler>>;

type Given<Members extends { readonly caps?: object | undefined }> = Omit<WithoutUndefined<Members>, 'caps'> & {
  readonly caps?: WithoutUndefined<NonNullable<Members['caps']>>;
};

/** Returns what a request says of a key: without members that are undefined, also among the caps. */
function givenOf<Members extends { readonly caps?: object | undefined }>({ caps, ...others }: Members): Given<Members> {
  return { ...withoutUndefined(others), ...(caps !== undefined && { caps: withoutUndefined(caps) }) } as Given<Members>;
}
