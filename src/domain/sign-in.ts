/** An address that signs the console in. */
export interface SignInCode {
  readonly url: string;
  /** When the code in it ends. */
  readonly expires_at: string;
}
