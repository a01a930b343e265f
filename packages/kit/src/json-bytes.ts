/**
 * Validated JSON that is parsed where it is used, for example on a policy worker thread: parsing a
 * plan of 50 MB would block the event loop for a second. A plain object, so that it can be sent to
 * a thread; large documents are in shared memory.
 */
export interface JsonBytes {
  /** UTF-8. */
  readonly json: Uint8Array
}
