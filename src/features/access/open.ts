import { randomBytes } from 'node:crypto';
import { MessagesDirectory } from '../../core/chatdb/public.ts';
import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import type { HttpServer } from '../../core/http/server.ts';
import { OWNER } from '../../core/model/owner.ts';
import type { CallerSender } from '../../core/model/ports/sending-ports.ts';
import { SELF_CHAT, type SelfChatService } from '../self-chat/port.ts';
import { assertAllowedFiles } from './allowed-files.ts';
import { AllowedSends } from './allowed-sends.ts';
import { ApprovalDesk } from './approval-desk.ts';
import { Asks } from './asks.ts';
import { Audit } from './audit.ts';
import { remaining } from './caps.ts';
import { clientLines } from './client-lines.ts';
import { selfChatClosed } from './closed-self-chat.ts';
import { HeldQuestions } from './held-questions.ts';
import { KeyCallers } from './key-callers.ts';
import { endDisallowed } from './key-end.ts';
import { KeyRing } from './key-ring.ts';
import { LimitedAccess } from './limited-access.ts';
import { LimitedSender } from './limited-sender.ts';
import { ownerSender } from './owner-sender.ts';
import { ACCESS, APPROVALS, type CallersApprovals, type CallersRights, RIGHTS } from './port.ts';
import { assertStillAllowed } from './rights.ts';
import { approvalStore } from './state/approvals-store.ts';
import { auditStore } from './state/audit-store.ts';
import { keyStore } from './state/keys-store.ts';

/** Lets limited keys in. */
export function openAccess(core: Core): Running {
  const { config, guests, ownerSends, ports } = core;
  const { features, invocation } = core.host;
  const { access, owner } = limitedAccess(core, ports.get(SELF_CHAT));
  let http: HttpServer | undefined;
  guests.knownBy(access);
  ownerSends.through(owner);
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
    hasKeys: () => access.keys.hasEverHad(),
    clientsOf: ({ key: secret, scopes }) =>
      invocation === undefined
        ? []
        : clientLines({ secret, scopes, url: http?.url ?? '', invocation }, { features, config }),
  });
  return {
    start(server) {
      http = server;
      return access.start();
    },
    close: () => access.close(),
  };
}

/**
 * Makes limited keys of their parts, and the owner's sender: once a limited key has been created, it writes the audit
 * log.
 */
export function limitedAccess(
  core: Core,
  { chat, tapbacks }: SelfChatService,
): { readonly access: LimitedAccess; readonly owner: CallerSender } {
  const { state, connection, deferrals } = core;
  const { clock, log } = core.host;
  const store = keyStore(state);
  const all = new MessagesDirectory(connection);
  const hasClosed = tapbacks.address !== '';
  const directory = hasClosed ? selfChatClosed(all, tapbacks.address) : all;
  const secret = store.secret('audit', () => randomBytes(32).toString('hex'));
  const audit = new Audit(auditStore(state), clock, secret, log);
  const desk = new ApprovalDesk(core, {
    store: approvalStore(state, () => deferrals.openIds()),
    audit,
    check: (keyId, to, members) => assertStillAllowed({ directory, clock }, keys.withId(keyId), to, members),
    onHeld: (approval) => tapbacks.ask(questions.about(approval)),
  });
  const keys: KeyRing = new KeyRing({
    store,
    directory,
    clock,
    note: (action, target, outcome) => audit.note({ keyId: OWNER, action, target, outcome }),
    remaining: (key) => remaining(audit, key, clock.now()),
    onChange: (key, before) =>
      endDisallowed(core, { desk, audit }, { key, before, isRevoked: keys.withId(key.stored.id) === undefined }),
  });
  const questions = new HeldQuestions(desk, audit, log, (id) => keys.withId(id)?.stored.name ?? id);
  const asks = new Asks(audit, core, clock);
  const { config, messages, sender } = core;
  const callers = new KeyCallers(core, {
    ...{ directory, hasClosed, audit },
    senderOf: (key, shown) =>
      new LimitedSender(key, {
        ...{ directory, clock, audit, desk, asks },
        sends: new AllowedSends(key, { sender, deferrals, directory, clock, messages, shown }),
        assertFiles: (paths) => assertAllowedFiles(paths, config.send.attachmentRoots, sender),
      }),
  });
  chat.onProved((id) => audit.note({ keyId: OWNER, action: 'approval', target: id, outcome: 'self_chat_proved' }));
  return {
    access: new LimitedAccess({ keys, audit, desk, questions, tapbacks, callers, directory, clock }),
    owner: ownerSender(core, directory, () => (keys.hasEverHad() ? audit : undefined)),
  };
}
