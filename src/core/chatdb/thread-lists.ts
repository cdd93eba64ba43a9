import type { ReaderThread } from '../runtime/reader-thread.ts';
import type { ListReader } from './list-reader.ts';

/** The methods of a `ListReader`, in this thread or in the reader thread. */
export type Lists = {
  readonly [Method in Exclude<keyof ListReader, 'survey'>]: (
    ...args: Parameters<ListReader[Method]>
  ) => ReturnType<ListReader[Method]> | Promise<ReturnType<ListReader[Method]>>;
};

/** Returns the methods of the `ListReader` in the reader thread. */
export function threadLists(thread: ReaderThread<{ readonly lists: ListReader }>): Lists {
  return {
    messages: (query) => thread.call('lists', 'messages', query),
    message: (...args) => thread.call('lists', 'message', ...args),
    details: (message) => thread.call('lists', 'details', message),
    reactionDetails: (reaction) => thread.call('lists', 'reactionDetails', reaction),
    conversation: (...args) => thread.call('lists', 'conversation', ...args),
    chats: () => thread.call('lists', 'chats'),
    conversations: (query) => thread.call('lists', 'conversations', query),
    listedConversations: (...args) => thread.call('lists', 'listedConversations', ...args),
    order: () => thread.call('lists', 'order'),
  };
}
