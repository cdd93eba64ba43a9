import type { AccessService } from '../../domain/ports/access.ts';
import type { RouteId } from '../../schema/routes.ts';
import type { Handlers } from './router.ts';

const ON_DEMAND = [
  'listContacts',
  'listPeople',
  'listPersonMessages',
  'searchMessages',
  'listKeys',
  'addKey',
  'getOwnKey',
  'getKey',
  'checkKey',
  'changeKey',
  'rotateKey',
  'revokeKey',
  'listApprovals',
  'getApproval',
  'approveSend',
  'denySend',
  'withdrawSend',
  'getSelfChat',
  'sendSelfChatCode',
  'proveSelfChat',
  'listAudit',
  'listWebhooks',
  'registerWebhook',
  'changeWebhook',
  'deleteWebhook',
  'getWebhook',
  'listDeliveries',
  'testWebhook',
  'replayWebhook',
] as const satisfies readonly RouteId[];

type LazyHandlers = Pick<Handlers, (typeof ON_DEMAND)[number]>;

/** Routes that are seldom used: loaded, with their schemas, at the first request to one of them. */
export function lazyRoutes(access: () => Promise<AccessService>): LazyHandlers {
  let loading: Promise<LazyHandlers> | undefined;
  const load = async (): Promise<LazyHandlers> => (await import('./routes/on-demand.ts')).onDemandRoutes(access);
  const handlers = ON_DEMAND.map((id): [RouteId, Handlers[RouteId]] => [
    id,
    async (exchange) => {
      loading ??= load();
      return (await loading)[id](exchange);
    },
  ]);
  return Object.fromEntries(handlers) as LazyHandlers;
}
