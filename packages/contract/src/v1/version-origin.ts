import { Type } from 'typebox'
import { Named, type Infer } from '../schema.ts'
import { AUDIT_ACTOR_TYPES } from './audit.ts'

export const JobSubmitter = Named('JobSubmitter', 'Submitter of a version of a job.', {
  Type: Type.Enum(AUDIT_ACTOR_TYPES),
  ID: Type.String({ description: 'Accessor ID of the token.' }),
  Name: Type.String({ description: 'Name of the token at that time.' }),
})
export type JobSubmitter = Infer<typeof JobSubmitter>

/** Submitter and reason of a version; absent on versions that older releases registered. */
export const versionOrigin = {
  SubmittedBy: Type.Optional(JobSubmitter),
  Origin: Type.Optional(
    Type.String({
      description:
        '`cli`, `web` or `api`: the client of the request. `dispatch`, `periodic`, ' +
        '`auto-revert of <version>` or `server` otherwise.',
    }),
  ),
  Message: Type.Optional(Type.String({ description: 'Why, as the submitter says.' })),
}

interface VersionOrigin {
  readonly SubmittedBy?: JobSubmitter
  readonly Origin?: string
}

/** Formats the submitter and origin of a version, such as `by ada (cli)`; empty if unknown. */
export function originText({ SubmittedBy, Origin = '' }: VersionOrigin): string {
  if (SubmittedBy === undefined) return Origin
  const who = `by ${SubmittedBy.Name || SubmittedBy.ID}`
  return Origin === '' ? who : `${who} (${Origin})`
}
