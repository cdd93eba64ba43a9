import { resource } from '../resource.ts';

/** Reads and sends messages. */
export const messageResource = resource({
  name: 'messages',
  routes: {
    sendMessage: { method: 'POST', path: '/messages', key: 'header', access: ['send'] },
    listMessages: { method: 'GET', path: '/messages', key: 'header', access: ['read'] },
    getMessage: { method: 'GET', path: '/messages/{id}', key: 'header', access: ['read'] },
  },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
});
