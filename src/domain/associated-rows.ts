/**
 * How rows with an `associated_message_type` are shown (U5). `reactions`: all of them as reactions, as the contract says.
 * `by_kind`: tapbacks and stickers as reactions, app messages as messages, votes in a poll as a change of the poll.
 */
export const ASSOCIATED_ROWS = ['reactions', 'by_kind'] as const;
export type AssociatedRows = (typeof ASSOCIATED_ROWS)[number];
