import { resource } from '../resource.ts';
import type { AttachmentParts } from './handlers.ts';

/** Files of messages, and files to send. */
export const attachmentResource = resource({
  name: 'attachments',
  routes: {
    getAttachment: { method: 'GET', path: '/messages/{id}/attachments/{n}', key: 'header', access: ['read'] },
    uploadAttachment: { method: 'POST', path: '/attachments', key: 'header', access: ['send'] },
  },
  handlers: async (parts: AttachmentParts) => (await import('./handlers.ts')).attachmentHandlers(parts),
  document: async () => (await import('./document.ts')).DOCUMENT,
});
