/**
 * Validated JSON that is parsed where it is used, such as on the thread that evaluates policies: a
 * plan of 50 MB would hold the event loop for a second. A plain object, so that threads can pass it
 * on; large ones are in memory that threads share.
 */
export interface JsonBytes {
  /** UTF-8. */
  readonly json: Uint8Array
}
