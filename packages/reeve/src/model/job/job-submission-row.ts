/**
 * The source of a job version. The text itself is a blob, read on demand; a version created by
 * reverting shares the blob of the original.
 */
export interface JobSubmissionRow {
  readonly Namespace: string
  readonly JobID: string
  readonly Version: number
  readonly JobModifyIndex: number
  readonly BlobKey: string
}
