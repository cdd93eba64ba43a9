/** The people of a demo, who write and react as they are told. Throws `invalid_request` for what they cannot do. */
export interface DemoPeople {
  /** Without a conversation they write to the owner alone. */
  say(message: {
    readonly from: string;
    readonly text: string;
    readonly conversationId?: string | undefined;
  }): Promise<TheirRow>;
  react(reaction: {
    readonly from: string;
    readonly messageId: string;
    /** As `postern demo react` takes it. */
    readonly reaction: string;
    readonly isTakenBack: boolean;
  }): Promise<TheirRow>;
}

/** What they wrote, by its row id. */
export interface TheirRow {
  readonly id: string;
}
