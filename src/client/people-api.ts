import type { Message } from '../core/model/message.ts';
import type { Included } from './options.ts';
import type { Person } from './people-types.ts';
import { queryOf, type Requests } from './request.ts';

export interface PersonMessageFilter extends Included {
  readonly limit?: number;
}

/**
 * Reads the people with whom the owner has conversations, and their messages. Each person has all of their addresses.
 */
export class PeopleApi {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Returns people whose name or addresses contain each word of `q`, ordered by name. */
  list(filter: { readonly q?: string; readonly limit?: number } = {}): Promise<Person[]> {
    return this.#requests.list(`people${queryOf(filter)}`, 'conversations');
  }

  /** Returns a person's newest messages. */
  messages(id: string, filter: PersonMessageFilter = {}): Promise<Message[]> {
    return this.#requests.list(pathOf(id, filter), 'guid');
  }

  /** Yields every message of a person, newest first, page after page. */
  allMessages(id: string, filter: PersonMessageFilter = {}): AsyncGenerator<Message, void> {
    return this.#requests.pages(pathOf(id, { limit: 200, ...filter }), 'guid');
  }
}

function pathOf(id: string, filter: PersonMessageFilter): string {
  return `people/${encodeURIComponent(id)}/messages${queryOf(filter)}`;
}
