import { resource } from '../resource.ts';

/** Conversations and their files. */
export const conversationResource = resource({
  name: 'conversations',
  routes: {
    listConversations: { method: 'GET', path: '/conversations', key: 'header', access: ['read'] },
    getConversation: { method: 'GET', path: '/conversations/{id}', key: 'header', access: ['read'] },
    listConversationAttachments: {
      method: 'GET',
      path: '/conversations/{id}/attachments',
      key: 'header',
      access: ['read'],
    },
  },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
});
