/** How long the newest incoming iMessages (at most 20) took from their date until they were seen in chat.db. */
export interface ArrivalDelay {
  /** Seconds in which chat.db was watched: neither sleep nor downtime counts. */
  readonly median_s: number;
  readonly max_s: number;
  /** Number of messages since the start that these figures are of. */
  readonly messages: number;
}
