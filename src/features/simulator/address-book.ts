import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Tables } from './tables.ts';

export interface NewPerson {
  readonly first?: string;
  readonly last?: string;
  readonly nickname?: string;
  readonly organization?: string;
  /** Telephone numbers with the punctuation that the owner of the Address Book typed. */
  readonly numbers?: readonly string[];
  readonly emails?: readonly string[];
}

/**
 * Returns the path of an account's Address Book file. Without `account`, returns the path of the file directly in
 * `folder`. That file often contains no contacts.
 */
export function addressBookFile(folder: string, account?: string): string {
  const name = 'AddressBook-v22.abcddb';
  return account === undefined ? join(folder, name) : join(folder, 'Sources', account, name);
}

/** The Address Book file of one account, as Core Data writes it. */
export class AddressBookSource extends Tables {
  readonly #contact: number;
  readonly #group: number;

  private constructor(path: string) {
    super(path);
    const entity = (name: string): number => this.number(`SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = '${name}'`);
    this.#contact = entity('ABCDContact');
    this.#group = entity('ABCDGroup');
  }

  /** Opens the file at `path`. Creates it if it is missing. */
  static open(path: string): AddressBookSource {
    if (!existsSync(path)) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const tables = new Tables(path);
      const schema = readFileSync(new URL('./schemas/address-book-v22.sql', import.meta.url), 'utf8');
      tables.transaction(() => tables.sqlite.exec(schema));
      tables.close();
    }
    return new AddressBookSource(path);
  }

  person({ first, last, nickname, organization, numbers = [], emails = [] }: NewPerson): number {
    return this.transaction(() => {
      const owner = this.insert('ZABCDRECORD', {
        Z_ENT: this.#contact,
        ZFIRSTNAME: first ?? null,
        ZLASTNAME: last ?? null,
        ZNICKNAME: nickname ?? null,
        ZORGANIZATION: organization ?? null,
        ZUNIQUEID: `${randomUUID().toUpperCase()}:ABPerson`,
      });
      for (const number of numbers) this.insert('ZABCDPHONENUMBER', { ZOWNER: owner, ZFULLNUMBER: number });
      for (const email of emails) {
        this.insert('ZABCDEMAILADDRESS', { ZOWNER: owner, ZADDRESS: email, ZADDRESSNORMALIZED: email.toLowerCase() });
      }
      return owner;
    });
  }

  group(name: string): void {
    this.insert('ZABCDRECORD', { Z_ENT: this.#group, ZNAME: name });
  }
}

/**
 * Writes an Address Book with the demo's people and some others: a file for each of three accounts and, directly in
 * `folder`, a file without contacts.
 */
export function writeAddressBook(folder: string): void {
  const write = (account: string | undefined, people: readonly NewPerson[]): void => {
    const source = AddressBookSource.open(addressBookFile(folder, account));
    for (const person of people) source.person(person);
    if (account !== undefined) source.group('Garden');
    source.close();
  };
  write(undefined, []);
  write('8B1F5A52-0C5E-4D1C-9C57-2F6C1D0B7A01', [
    { first: 'Ana', last: 'Silva', numbers: ['+1 555-0100'], emails: ['Ana@Example.com'] },
    { first: 'Ben', last: 'Okafor', nickname: 'Benji', numbers: ['+1 (555) 0101', '+1 555 0111;ext=5'] },
    { first: 'John', last: 'Smith', numbers: ['+1 555 0120'] },
    { organization: 'Garden Centre', numbers: ['+1 555 0150'], emails: ['hello@garden.example'] },
  ]);
  write('8B1F5A52-0C5E-4D1C-9C57-2F6C1D0B7A02', [
    { first: 'Cho', last: 'Tanaka', emails: ['cho@example.com'] },
    { first: 'John', last: 'Smith', numbers: ['+1 555 0121'], organization: 'Smith & Sons' },
    { first: 'Lena', last: 'Vogel', numbers: ['+1 555 0130'] },
  ]);
  write('8B1F5A52-0C5E-4D1C-9C57-2F6C1D0B7A03', [
    { first: 'Ana', last: 'Silva', numbers: ['(+1) 555 0100'] },
    { first: 'Max', last: 'Vogel', numbers: ['+1 555 0130'] },
  ]);
}
