import { resource } from '../resource.ts';

/** Files of messages, and files to send. */
export const attachmentResource = resource({
  name: 'attachments',
  routes: {
    getAttachment: { method: 'GET', path: '/messages/{id}/attachments/{n}', key: 'header', access: ['read'] },
    uploadAttachment: { method: 'POST', path: '/attachments', key: 'header', access: ['send'] },
  },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
});
