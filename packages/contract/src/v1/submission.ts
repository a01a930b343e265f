import { Type } from 'typebox'
import { Index, MapOf, Nullable, type Infer } from '../shape.ts'

export const SUBMISSION_FORMATS = ['hcl2', 'hcl1', 'json'] as const
export type SubmissionFormat = (typeof SUBMISSION_FORMATS)[number]

/** `JobModifyIndex` is the same number as `JobIndex`. */
export const JobSubmission = Type.Object(
  {
    Source: Type.String({ description: 'The job file as it was written.' }),
    Format: Type.String({ description: '`hcl2`, `hcl1` or `json`.' }),
    VariableFlags: Nullable(MapOf(Type.String())),
    Variables: Type.String({ description: 'Content of the variables form of the web pages.' }),
    Namespace: Type.String(),
    JobID: Type.String(),
    Version: Type.Integer(),
    JobIndex: Index(),
    JobModifyIndex: Index(),
  },
  { $id: 'JobSubmission', description: 'The source from which one version of a job was made.' },
)
export type JobSubmission = Infer<typeof JobSubmission>
