/** A seeded random number generator. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 to just under 1, in 2^32 steps (splitmix32). */
  next(): number {
    this.#state = (this.#state + 0x9e37_79b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0_aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  }

  /** Returns a whole number from 0 to just under `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** Returns true with probability `share`. */
  in(share: number): boolean {
    return this.next() < share;
  }

  of<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }

  /** Returns a guid as Messages writes it. */
  guid(): string {
    const text = this.#hex() + this.#hex() + this.#hex() + this.#hex();
    return `${text.slice(0, 8)}-${text.slice(8, 12)}-4${text.slice(13, 16)}-8${text.slice(17, 20)}-${text.slice(20)}`;
  }

  #hex(): string {
    return this.below(2 ** 32)
      .toString(16)
      .toUpperCase()
      .padStart(8, '0');
  }
}

const WORDS = `the a to and is it you I we they of in on at for with from about after before again almost already always
  back bread bring bus cake call car cat chairs children cold come could dentist dinner dog door down early eight evening
  film five friday garden go good great half happy have here home hope hour hungry just keys kitchen late later leave
  letter library light lost love lunch maybe meet milk minute monday morning mother music need never new next nine no not
  now office okay old open over paint park parcel party phone photo pick place plan please rain read ready really red
  road room run same saturday school sea see send seven shoes shop short sister six sleep snow some soon sorry station
  still stop story sun sunday table take talk tea tell ten thanks there thing think three ticket time today tomorrow
  tonight too train tree try two until up wait walk warm was water week well what when where which who why will window
  work write yes yesterday Grüße schön über morgen vielleicht tschüss à bientôt déjà mañana niño очень хорошо 明日 行きます
  今日 👋 👍 😂 🎉 ❤️ 🍅 👩‍👩‍👧`.split(/\s+/) as [string, ...string[]];
const ENDS = ['', '', '', '.', '!', '?', '…'] as const;

/**
 * Returns a plausible text: mostly a few words, sometimes a single word or a long story. Texts of a single word repeat
 * often, longer texts hardly ever.
 */
export function chatter(chance: Chance): string {
  const words = chance.in(0.07) ? 1 : 3 + Math.floor(chance.next() ** 3 * (chance.in(0.01) ? 300 : 35));
  let text = chance.of(WORDS);
  for (let word = 1; word < words; word += 1) text += (chance.in(0.02) ? '\n' : ' ') + chance.of(WORDS);
  return text + chance.of(ENDS);
}
