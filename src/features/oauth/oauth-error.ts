/** An error with an OAuth 2 error code, such as `invalid_grant`. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: string;
  readonly status: number;

  constructor(code: string, description: string, status = 400) {
    super(description);
    this.code = code;
    this.status = status;
  }
}
