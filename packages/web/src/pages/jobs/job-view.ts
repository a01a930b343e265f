import type { Job } from '@reeve/contract'
import type { JobName } from '../../paths.ts'

/** What every tab of the job page is given. */
export interface JobView {
  readonly job: Job
  readonly name: JobName
  readonly search: URLSearchParams
}

/** Whether the definition is being edited: the address says so, as it does of all. */
export function isEditing(search: URLSearchParams): boolean {
  return search.get('edit') === 'yes'
}
