/**
 * One problem that a client can receive. Each `{name}` in its `detail` is replaced by a value when the problem is
 * thrown.
 */
export interface ProblemText {
  readonly status: number;
  /** The stable code, if it differs from the name in the catalogue. */
  readonly code?: string;
  readonly detail: string;
  /** One sentence that tells the client what to do about the problem. */
  readonly hint?: string;
  /**
   * JSON pointer to the member that is wrong, as in `Mistake`. Without it, a problem with status 400 concerns the whole
   * body or request.
   */
  readonly pointer?: string;
  /**
   * Example values for each `{name}`, and for the members that this problem adds to the answer. Used in the
   * documentation.
   */
  readonly example?: Readonly<Record<string, string | number>>;
  readonly extra?: Readonly<Record<string, unknown>>;
}
