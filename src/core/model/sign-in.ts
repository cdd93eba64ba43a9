/** A URL that contains a sign-in code. Opening it signs the browser in to the console. */
export interface SignInCode {
  readonly url: string;
  /** When the code expires. */
  readonly expires_at: string;
}
