import { resource } from '../resource.ts';

/** Webhooks and their deliveries. */
export const webhookResource = resource({
  name: 'webhooks',
  routes: {
    registerWebhook: { method: 'POST', path: '/webhooks', key: 'header', access: ['webhooks'] },
    listWebhooks: { method: 'GET', path: '/webhooks', key: 'header', access: ['webhooks'] },
    deleteWebhook: { method: 'DELETE', path: '/webhooks/{id}', key: 'header', access: ['webhooks'] },
    getWebhook: { method: 'GET', path: '/webhooks/{id}', key: 'header', access: ['webhooks'] },
    changeWebhook: { method: 'PATCH', path: '/webhooks/{id}', key: 'header', access: ['webhooks'] },
    listDeliveries: { method: 'GET', path: '/webhooks/{id}/deliveries', key: 'header', access: ['webhooks'] },
    testWebhook: { method: 'POST', path: '/webhooks/{id}/test', key: 'header', access: ['webhooks'] },
    resendDelivery: {
      method: 'POST',
      path: '/webhooks/{id}/deliveries/{delivery}/resend',
      key: 'header',
      access: ['webhooks'],
    },
    retryWebhook: { method: 'POST', path: '/webhooks/{id}/retry', key: 'header', access: ['webhooks'] },
    replayWebhook: { method: 'POST', path: '/webhooks/{id}/replay', key: 'header', access: ['webhooks'] },
  },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
});
