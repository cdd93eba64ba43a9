import type { Core } from '../../core/core.ts';
import { clientsFor, type Running } from '../../core/feature.ts';
import type { HttpServer } from '../../core/http/server.ts';
import { OWNER } from '../../core/model/owner.ts';
import { SELF_CHAT } from '../self-chat/port.ts';
import { LimitedAccess } from './limited-access.ts';
import { ACCESS, APPROVALS, type CallersApprovals, type CallersRights, RIGHTS } from './port.ts';

/** Lets limited keys in. */
export function openAccess(core: Core): Running {
  const { guests, ownerSends, ports } = core;
  const access = new LimitedAccess(core, ports.get(SELF_CHAT));
  let http: HttpServer | undefined;
  guests.knownBy(access);
  ownerSends.through(access.owner);
  const approvals = (keyId: string): CallersApprovals => ({
    get own() {
      return access.approvalsOf(keyId);
    },
    ofKey: approvals,
  });
  ports.provide(APPROVALS, approvals(OWNER));
  const rights = (keyId: string): CallersRights => ({ own: () => access.keys.rightsOf(keyId), ofKey: rights });
  ports.provide(RIGHTS, rights(OWNER));
  ports.provide(ACCESS, {
    keys: access.keys,
    audit: access.audit,
    hasKeys: () => access.hasKeys(),
    clientsOf: (key) => clientsFor(key, http?.url ?? '', core),
  });
  return {
    start(server) {
      http = server;
      return access.start();
    },
    close: () => access.close(),
  };
}
