/** One problem that a client can receive. `{name}` in its sentences is filled in when it is thrown. */
export interface ProblemText {
  readonly status: number;
  /** The stable code, if it differs from the name in the catalogue. */
  readonly code?: string;
  readonly detail: string;
  /** Advice for the reader. */
  readonly hint?: string;
  /** The place of the problem, as in `Mistake`. For 400 the whole body or request if absent. */
  readonly pointer?: string;
  /** Example values for `{name}` and for the members that this problem adds, for the documentation. */
  readonly example?: Readonly<Record<string, string | number>>;
  readonly extra?: Readonly<Record<string, unknown>>;
}
