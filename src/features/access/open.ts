import type { Core } from '../../core/core.ts';
import { clientsFor, type Running } from '../../core/feature.ts';
import type { HttpServer } from '../../core/http/server.ts';
import { LazyAccess } from './lazy-access.ts';
import { ACCESS, APPROVALS, RIGHTS } from './port.ts';
import { hasKeys } from './state/keys-store.ts';
import { removeUserInfoOfKeys } from './state/user-info.ts';

/** Lets limited keys in. `configured` is the address at which the owner decides by tapback; "" for none. */
export function openAccess(core: Core, configured: string): Running {
  const { state, host, closers, guests, ownerSends, ports } = core;
  removeUserInfoOfKeys(state, host.clock);
  const access = new LazyAccess(async (selfAddress) => {
    const { accessParts } = await import('./access-parts.ts');
    return accessParts({
      ...core,
      deferral: core.deferrals,
      files: core.heldFiles,
      selfAddress,
      hasTapbacks: configured !== '',
      owner: () => core.owner,
    });
  }, configured);
  let http: HttpServer | undefined;
  guests.knownBy(access);
  ownerSends.through(access.ownerSender(ownerSends));
  ports.provide(APPROVALS, access.approvals());
  ports.provide(RIGHTS, access.rights());
  ports.provide(ACCESS, {
    get loaded() {
      return access.loaded;
    },
    load: () => access.load(),
    clientsOf: (key) => clientsFor(key, http?.url ?? '', core),
    async selfChatAt(address) {
      access.selfAddress ||= address;
      return (await access.load()).selfChat;
    },
  });
  closers.add('limited keys', {
    async start() {
      if (hasKeys(state) || access.selfAddress !== '') await access.load();
    },
    end: () => access.loaded?.close(),
  });
  return {
    start: (server) => {
      http = server;
      return access.loaded?.start();
    },
  };
}
