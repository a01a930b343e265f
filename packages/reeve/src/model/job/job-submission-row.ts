/**
 * That a version of a job was made from a source. The source itself is a blob, read when somebody
 * asks for it; a version made by reverting shares the blob of the one it repeats.
 */
export interface JobSubmissionRow {
  readonly Namespace: string
  readonly JobID: string
  readonly Version: number
  readonly JobModifyIndex: number
  readonly BlobKey: string
}
