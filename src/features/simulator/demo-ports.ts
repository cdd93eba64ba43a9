/** Controls a demo's simulated people, who write and react. Throws `invalid_request` for anything they cannot do. */
export interface DemoPeople {
  /** Makes the person `from` write a message. Without `conversationId` the message goes to the owner alone. */
  say(message: {
    readonly from: string;
    readonly text: string;
    readonly conversationId?: string | undefined;
  }): Promise<TheirRow>;
  react(reaction: {
    readonly from: string;
    readonly messageId: string;
    /** The reaction, as the argument of `postern demo react`. */
    readonly reaction: string;
    readonly isTakenBack: boolean;
  }): Promise<TheirRow>;
  /** Opens a conversation as if the owner did, which marks its messages as read. */
  read(conversationId: string): Promise<void>;
}

/** The row id of the new message or reaction. */
export interface TheirRow {
  readonly id: string;
}
