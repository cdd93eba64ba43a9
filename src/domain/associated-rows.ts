/**
 * The ways to show rows with an `associated_message_type` (decision U5). `reactions`: all of them as reactions, as the
 * contract says. `by_kind`: tapbacks and stickers as reactions, app messages as messages, votes as changes of their
 * poll.
 */
export const ASSOCIATED_ROWS = ['reactions', 'by_kind'] as const;
export type AssociatedRows = (typeof ASSOCIATED_ROWS)[number];
