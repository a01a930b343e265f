import type { Job } from '@reeve/contract'
import type { JobName } from '../../paths.ts'

/** What every tab of the job page is given. */
export interface JobView {
  readonly job: Job
  readonly name: JobName
  readonly search: URLSearchParams
}
