/** Controls a demo's simulated people, who write and react. Throws `invalid_request` for anything they cannot do. */
export interface DemoPeople {
  /** Makes a person write. Without a conversation the message goes to the owner alone. */
  say(message: {
    readonly from: string;
    readonly text: string;
    readonly conversationId?: string | undefined;
  }): Promise<TheirRow>;
  react(reaction: {
    readonly from: string;
    readonly messageId: string;
    /** In the form that `postern demo react` accepts. */
    readonly reaction: string;
    readonly isTakenBack: boolean;
  }): Promise<TheirRow>;
  /** Opens a conversation as the owner, which marks its messages read. */
  read(conversationId: string): Promise<void>;
}

/** The row id of the new message or reaction. */
export interface TheirRow {
  readonly id: string;
}
