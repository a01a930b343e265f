import { Type } from 'typebox'
import { refused } from './answer.ts'

/** Job ids may hold slashes; they may be sent as `%2F` or as they are (reference §1.2). */
export const JobPath = Type.Object({
  job_id: Type.String({ description: 'Id of the job; may hold slashes.' }),
})

export const unknownJob = refused('`job not found`')
