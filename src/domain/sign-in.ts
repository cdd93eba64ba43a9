/** An address that signs the console in. */
export interface SignInCode {
  readonly url: string;
  /** When its code expires. */
  readonly expires_at: string;
}
