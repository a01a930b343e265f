import * as t from './shared-schemas.ts'
import { AUDIT_ACTOR_TYPES } from './audit.ts'

export const JobSubmitter = t.Named('JobSubmitter', 'Submitter of a version of a job.', {
  Type: t.Enum(AUDIT_ACTOR_TYPES),
  ID: t.String({ description: 'Accessor ID of the token.' }),
  Name: t.String({ description: 'Name of the token at that time.' }),
})
export type JobSubmitter = t.Infer<typeof JobSubmitter>

/** Submitter and reason of a version; absent on versions that older releases registered. */
export const versionOrigin = {
  SubmittedBy: t.Optional(JobSubmitter),
  Origin: t.Optional(
    t.String({
      description:
        '`cli`, `web` or `api`: the client of the request. `dispatch`, `periodic`, ' +
        '`auto-revert of <version>` or `server` otherwise.',
    }),
  ),
  Message: t.Optional(t.String({ description: 'Why, as the submitter says.' })),
}
