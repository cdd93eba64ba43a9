/** Looks up names by address. All names come from one load of their source. */
export interface NameLookup {
  /** Returns the name of the person with this address. Returns undefined for none, and for several different names. */
  nameOf(address: string): string | undefined;
}

/** A person or an organization with a name. */
export interface Named {
  readonly name: string;
  /** Complete numbers as `+15550100`, other numbers as written, e-mail addresses in lower case. */
  readonly addresses: readonly string[];
  readonly nickname: string | null;
  readonly organization: string | null;
}

/** Knows who has which address. */
export interface NameSource {
  /**
   * Starts loading the names at the first call. Returns undefined if they are available. Otherwise returns a promise
   * that resolves once they are, and never rejects.
   */
  ready(): Promise<void> | undefined;
  /** The currently known names. Each load replaces the object. */
  readonly names: NameLookup;
  /**
   * Finds people with exactly this name or nickname, ignoring case and accents. A single result means that the name is
   * unambiguous.
   */
  named(name: string): Promise<readonly Named[]>;
}

/**
 * Returns the people who have one of the addresses that `isListed` allows, each with only these addresses. Names every
 * member, so that a new one does not compile until it is decided whether every key sees it.
 */
export function namedBy(all: readonly Named[], isListed: (address: string) => boolean): readonly Named[] {
  return all
    .map(({ name, nickname, organization, addresses }) => ({
      name,
      nickname,
      organization,
      addresses: addresses.filter(isListed),
    }))
    .filter(({ addresses }) => addresses.length > 0);
}

/** The names of the source that a feature provides. Without one, no address has a name. */
export class Naming implements NameSource {
  #source: NameSource | undefined;

  providedBy(source: NameSource): void {
    this.#source = source;
  }

  ready(): Promise<void> | undefined {
    return this.#source?.ready();
  }

  get names(): NameLookup {
    return this.#source?.names ?? NO_NAMES;
  }

  named(name: string): Promise<readonly Named[]> {
    return this.#source?.named(name) ?? Promise.resolve([]);
  }
}

const NO_NAMES: NameLookup = { nameOf: () => undefined };
