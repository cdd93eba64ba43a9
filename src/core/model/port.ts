import type { Scope } from './key.ts';
import type { Message } from './message.ts';
import { problem } from './problems.ts';

/** The reach of a limited key. Features narrow their ports by it, and see no other part of a key. */
export interface Reach {
  readonly keyId: string;
  has(scope: Scope): boolean;
  /** Reports whether the key may read the row: every conversation that it is in. Records that it has read it if so. */
  mayRead(row: Pick<Message, 'id' | 'conversation_id'>): boolean;
  /** Reports whether events may be posted to this URL for the key. */
  mayCallBack(url: string): boolean;
  /** Records that something which posts events for the key was registered or removed. */
  noteCallback(target: string, outcome: string): void;
  /** Reports whether the key's list for reading or for sending names the address. */
  lists(address: string): boolean;
  /** Returns the ids of those conversations in `ids` that the key may read. */
  readable(ids: readonly string[]): readonly string[];
  /** Returns the ids of all conversations that the key may read; undefined if its list names none and allows all. */
  conversations(): readonly string[] | undefined;
  /** Returns the ids of the conversations that no list opens. */
  closed(): readonly string[];
  /**
   * Returns those of the messages that the key may read, as the key sees them, and records that it has read them. Key:
   * the message as given.
   */
  read(messages: readonly Message[]): ReadonlyMap<Message, Message>;
}

/**
 * A service that a feature adds to every `Caller`. Fail-closed: a port cannot be declared without saying how much a
 * limited key gets, and without `provide` no caller has it.
 */
export interface Port<Service> {
  readonly name: string;
  /** Returns the service as far as the key reaches; undefined if only the owner has it. */
  readonly narrow: (service: Service, reach: Reach) => Service | undefined;
}

/** The services that features have provided in a running service. */
export class Ports {
  readonly #services = new Map<string, unknown>();

  provide<Service>(port: Port<Service>, service: Service): void {
    this.#services.set(port.name, service);
  }

  /** Returns the owner's service; undefined if the feature is absent or switched off. */
  find<Service>(port: Port<Service>): Service | undefined {
    return this.#services.get(port.name) as Service | undefined;
  }

  /** Returns the owner's service. Throws `not_available`. */
  get<Service>(port: Port<Service>): Service {
    return this.find(port) ?? absent(port);
  }

  /** Returns the service as far as the key reaches. Throws `not_available` if it does not reach the service at all. */
  narrowed<Service>(port: Port<Service>, reach: Reach): Service {
    return port.narrow(this.get(port), reach) ?? absent(port);
  }
}

function absent({ name }: { readonly name: string }): never {
  throw problem('not_available', { what: name });
}
