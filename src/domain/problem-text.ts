/** One problem that a client can be given. `{name}` in its sentences is filled in when it is thrown. */
export interface ProblemText {
  readonly status: number;
  /** The stable code, where it is not the name in the catalogue. */
  readonly code?: string;
  readonly detail: string;
  /** What the reader can do about it. */
  readonly hint?: string;
  /** What the sentence is about, as in `Mistake`. For 400 the whole body or request if it is absent. */
  readonly pointer?: string;
  /** What documentation shows for `{name}`, and the members that this problem adds. */
  readonly example?: Readonly<Record<string, string | number>>;
  readonly extra?: Readonly<Record<string, unknown>>;
}
