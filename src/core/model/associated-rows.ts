/**
 * The ways to show rows with an `associated_message_type` (decision U5). `reactions`: all as reactions, as the API's
 * contract says. `by_kind`: tapbacks and stickers as reactions, app messages as messages, and votes as changes of the
 * poll.
 */
export const ASSOCIATED_ROWS = ['reactions', 'by_kind'] as const;
export type AssociatedRows = (typeof ASSOCIATED_ROWS)[number];
