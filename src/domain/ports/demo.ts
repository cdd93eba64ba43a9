/** Controls a demo's people, who write and react. Throws `invalid_request` for what they cannot do. */
export interface DemoPeople {
  /** Without a conversation they write only to the owner. */
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
  /** The owner opens a conversation, which marks its messages read. */
  read(conversationId: string): Promise<void>;
}

/** The row id of what they wrote. */
export interface TheirRow {
  readonly id: string;
}
